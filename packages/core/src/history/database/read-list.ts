import type { AccountId } from '../../domain/account';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { type ListMark, newestFirst, oldestFirst } from '../history-source';
import type { NamedQuery, PgDatabase } from './pg-database';
import type { ListQuery } from './pg-list-query';

/** A row with its place in a list. */
export interface PlacedRow {
  readonly accepted_at: Date;
  readonly event_id: string;
  readonly webhook_id?: string;
}

/**
 * Read the first rows of a list: those of each retention that its account has, mostly one. A query that names one
 * opens its days alone, however many others there are.
 */
export async function readList<Row extends PlacedRow>(
  read: PgDatabase['read'],
  makeList: () => ListQuery,
  build: (list: ListQuery, keepDays: number) => NamedQuery,
): Promise<readonly Row[]> {
  const { accountId, order, limit } = makeList().input;
  const retentions = await readRetentions(read, accountId);
  const parts = await Promise.all(retentions.map((days) => read<Row>(build(makeList(), days))));
  if (parts.length < 2) return parts.flat();
  const compare = order === 'newest_first' ? newestFirst : oldestFirst;
  return parts
    .flat()
    .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
    .slice(0, limit);
}

export function placeOf({ accepted_at, event_id, webhook_id }: PlacedRow): ListMark {
  const mark = { createdAt: accepted_at.getTime(), eventId: event_id as EventId };
  return webhook_id === undefined ? mark : { ...mark, endpointId: webhook_id as EndpointId };
}

// Rows that somebody has put there by hand are counted for nobody: then it may be any.
const READ_RETENTIONS = `
  SELECT k.keep_days FROM webhook_retentions AS k
  WHERE EXISTS (SELECT FROM webhook_usage AS u WHERE u.account_id = $1 AND u.keep_days = k.keep_days)
    OR NOT EXISTS (SELECT FROM webhook_usage AS u WHERE u.account_id = $1)`;

/** For how many days it is kept what the history has of an account. */
async function readRetentions(read: PgDatabase['read'], accountId: AccountId): Promise<readonly number[]> {
  const query = { name: 'read-retentions', text: READ_RETENTIONS, values: [accountId] };
  return (await read<{ keep_days: number }>(query)).map(({ keep_days: days }) => days);
}

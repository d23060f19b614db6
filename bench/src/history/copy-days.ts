import { DAILY_TABLES, provideDay, ROLLUPS } from '@hookferry/core/history/database/pg-days';
import { inParallel } from '../in-parallel';
import { FAILED_TYPE, ID_AT, ID_DIGITS } from './move-all';
import { ACCOUNT, DAY_MS, KEEP_DAYS, say, type WithHistory, yesterday } from './stage';

/** How many numbers of events each day has for itself. */
const IDS_A_DAY = 1_000_000;

/** The date of a day, by how many days it is before the one that was moved. */
function dateOf(daysBefore: number): string {
  return new Date(yesterday() - daysBefore * DAY_MS).toISOString().slice(0, 10);
}

function partitionOf(table: string, daysBefore: number): string {
  return `${table}_k${KEEP_DAYS}_${dateOf(daysBefore).replaceAll('-', '')}`;
}

// The ids of a day sort by time as those do that they are made of.
const idOn = (column: string, days: number) =>
  `left(${column}, -2) || '${days.toString(36).padStart(2, '0')}'`;
const keyOf = (deliveryId: string) =>
  `('x' || encode(substr(sha256(convert_to(${deliveryId}, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint`;

/** Columns that are other ones on a day that is copied. */
function changesOf(table: string, days: number): Readonly<Record<string, string>> {
  const earlier = (column: string) => `${column} - interval '${days} days'`;
  const eventId = idOn('event_id', days);
  const deliveryId = `${eventId} || '.' || webhook_id`;
  const delivery = {
    event_id: eventId,
    accepted_at: earlier('accepted_at'),
    delivery_key: keyOf(deliveryId),
  };
  const id = `(substr(data, ${ID_AT}, ${ID_DIGITS})::bigint + ${days * IDS_A_DAY})::text`;
  const changes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    webhook_events: {
      event_id: eventId,
      accepted_at: earlier('accepted_at'),
      data: `left(data, ${ID_AT - 1}) || ${id} || substr(data, ${ID_AT + ID_DIGITS})`,
    },
    webhook_deliveries: { ...delivery, last_attempt_at: earlier('last_attempt_at') },
    webhook_attempts: {
      ...delivery,
      delivery_id: deliveryId,
      started_at: earlier('started_at'),
      next_attempt_at: earlier('next_attempt_at'),
    },
    [ROLLUPS]: { start: earlier('start') },
  };
  return changes[table] ?? {};
}

/** Put the day that was moved on record once more, for each of so many days before it, by SQL of the same form. */
export async function copyDays(stage: WithHistory, days: number, isFailed: boolean): Promise<void> {
  const types = isFailed ? `= '${FAILED_TYPE}'` : `<> '${FAILED_TYPE}'`;
  // Two at a time, as the machine has two cores.
  await inParallel(days, 2, async (i) => {
    const day = i + 1;
    await provideDay(stage.database, DAILY_TABLES, { keepDays: KEEP_DAYS, date: dateOf(day) });
    for (const table of DAILY_TABLES) await copyTable(stage, table, day, `type ${types}`);
    say(`${isFailed ? 'failed ones' : 'a day'} of ${dateOf(day)} on record`);
  });
}

/** What the days have come to, and what their accounts have. Once all of them are on record. */
export async function copySums(stage: WithHistory, days: number): Promise<void> {
  for (let day = 1; day <= days; day += 1) {
    await provideDay(stage.database, [ROLLUPS], { keepDays: KEEP_DAYS, date: dateOf(day) });
    await copyTable(stage, ROLLUPS, day, 'true');
    await stage.postgres.query(
      `INSERT INTO webhook_usage SELECT account_id, day - ${day}, keep_days, bytes FROM webhook_usage WHERE day = $1`,
      [dateOf(0)],
    );
  }
}

async function copyTable(
  { postgres }: WithHistory,
  table: string,
  day: number,
  where: string,
): Promise<void> {
  const columns = await postgres.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
    [table],
  );
  const changes = changesOf(table, day);
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => changes[name] ?? name);
  await postgres.query(
    `INSERT INTO ${partitionOf(table, day)} (${names.join(', ')})
     SELECT ${values.join(', ')} FROM ${partitionOf(table, 0)} WHERE account_id = '${ACCOUNT}' AND ${where}`,
  );
}

/** Bytes on disk of each table with its indexes. */
export async function sizesOf({ postgres }: WithHistory): Promise<ReadonlyMap<string, number>> {
  const rows = await postgres.query<{ parent: string; bytes: string }>(
    `SELECT parent.relname AS parent, sum(pg_total_relation_size(inhrelid)) AS bytes
     FROM pg_inherits JOIN pg_class AS parent ON parent.oid = inhparent AND parent.relkind = 'p' GROUP BY 1 ORDER BY 1`,
  );
  return new Map(rows.map(({ parent, bytes }) => [parent, Number(bytes)]));
}

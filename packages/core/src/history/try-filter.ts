import { setImmediate } from 'node:timers/promises';
import type { EventTypes } from '../accounts/event-types/event-types';
import type { AccountId } from '../domain/account';
import { dataOf, type EventId, type StoredEvent } from '../domain/event';
import { matchesType, requireKnownFilters } from '../endpoints/filters/event-filters';
import type { Explained, PayloadFilter } from '../endpoints/filters/payload-filter';
import { invalidRequest } from '../platform/app-error';
import { scanPage } from '../platform/batches';
import type { ListedEvent, ListMark } from './history-source';
import type { WholeHistory } from './whole-history';

/** The data to try a filter on. */
export type TrySource =
  | { readonly kind: 'data'; readonly data: unknown }
  /** The catalogue's example of a type. */
  | { readonly kind: 'example'; readonly type: string }
  | { readonly kind: 'event'; readonly id: EventId }
  | LastEvents;

/** The account's last events. */
export interface LastEvents {
  readonly kind: 'last';
  /** Only those that an endpoint with these filters would get. */
  readonly types?: readonly string[] | undefined;
  readonly most: number;
}

/** The result of a filter for one event. */
export interface Trial {
  readonly event?: { readonly id: EventId; readonly createdAt: number };
  readonly type?: string;
  /** `undefined`: its payload was erased. */
  readonly matches: boolean | undefined;
  readonly because: readonly Explained[];
}

export interface TryFilterContext {
  readonly history: Pick<WholeHistory, 'findEvent' | 'listEvents'>;
  readonly eventTypes: EventTypes;
}

// Ends the search where hardly any of the last events matches the types, and where they are long.
const MOST_SCANNED = 300;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Try a filter on data, or on stored events. Nothing is sent, and nothing changes.
 *
 * @throws AppError `invalid_request` for an unknown event or type.
 */
export async function tryFilter(
  context: TryFilterContext,
  accountId: AccountId,
  filter: PayloadFilter,
  source: TrySource,
): Promise<readonly Trial[]> {
  switch (source.kind) {
    case 'data':
      return [tryOn(filter, source.data)];
    case 'example': {
      const { name: type, example } = await context.eventTypes.readNamed(source.type, '/event_type');
      return [{ type, ...tryOn(filter, example) }];
    }
    case 'event':
      return [trialOf(filter, await findEvent(context, accountId, source.id))];
    case 'last':
      await requireKnownFilters(context, source.types ?? []);
      return await tryOnLast(context, accountId, filter, source);
  }
}

/** @throws AppError `invalid_request`. */
export async function findEvent(
  { history }: Pick<TryFilterContext, 'history'>,
  accountId: AccountId,
  id: EventId,
): Promise<StoredEvent> {
  const event = await history.findEvent(accountId, id);
  if (event) return event;
  throw invalidRequest([{ pointer: '/event_id', detail: 'is not the id of an event of the account' }]);
}

// One after the other, so that only one is in memory at a time, and other work runs in between.
async function tryOnLast(
  context: TryFilterContext,
  accountId: AccountId,
  filter: PayloadFilter,
  source: LastEvents,
): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  let characters = 0;
  for (const id of await lastOf(context, accountId, source)) {
    const event = await context.history.findEvent(accountId, id);
    // Its retention has just ended.
    if (event === undefined) continue;
    characters += event.body?.length ?? 0;
    if (characters > MOST_CHARACTERS && trials.length > 0) break;
    trials.push(trialOf(filter, event));
    await setImmediate();
  }
  return trials;
}

async function lastOf(
  { history }: TryFilterContext,
  accountId: AccountId,
  { types, most }: LastEvents,
): Promise<readonly EventId[]> {
  const { found } = await scanPage<ListedEvent, EventId, ListMark>({
    limit: most,
    before: undefined,
    mostScanned: MOST_SCANNED,
    readBatch: async (size, from) => {
      const { found: entries, nextCursor, isCutShort } = await history.listEvents({ accountId }, size, from);
      return isCutShort ? { entries, nextCursor, endsPage: isCutShort } : { entries, nextCursor };
    },
    cursorOf: ({ id: eventId, createdAt }) => ({ eventId, createdAt }),
    show: async ({ id, type }) => (asksFor(types, type) ? id : undefined),
  });
  return found;
}

function asksFor(types: LastEvents['types'], type: string): boolean {
  return types === undefined || types.some((filter) => matchesType(filter, type));
}

function trialOf(filter: PayloadFilter, { id, type, acceptedAt, body }: StoredEvent): Trial {
  const known = { event: { id, createdAt: acceptedAt }, type };
  return body === undefined
    ? { ...known, matches: undefined, because: [] }
    : { ...known, ...tryOn(filter, dataOf(body)) };
}

function tryOn(filter: PayloadFilter, data: unknown): Pick<Trial, 'matches' | 'because'> {
  return { matches: filter.matches(data), because: filter.explain(data) };
}

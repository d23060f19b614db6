import { setImmediate } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import { type DeliveryState, NOTHING_HAPPENED } from '../domain/delivery-log';
import type { Endpoint } from '../domain/endpoint';
import { dataOf, type EventHead, type EventId, statusOfEvent } from '../domain/event';
import type { Replay, ReplayMode, ReplayOrder } from '../domain/replay';
import { matchesType } from '../endpoints/filters/event-filters';
import { type PayloadFilter, readStoredFilter } from '../endpoints/filters/payload-filter';
import type { EventMark } from '../events/redis-event-index';
import type { WholeHistory } from '../history/whole-history';
import type { Mark } from '../platform/redis-timeline';

/** An event of the range, and whether to send it. */
export interface EventChoice {
  /** Where it is in the range. */
  readonly position: Mark;
  readonly isChosen: boolean;
  /** Whether it would be chosen, but its payload is erased. */
  readonly isErased: boolean;
  /** Whether this replay has requested it already. */
  readonly isRequested: boolean;
  readonly group?: string | undefined;
}

interface ChosenPage {
  readonly choices: readonly EventChoice[];
  /** Absent: these were the last events of the range. */
  readonly nextCursor: Mark | undefined;
}

/**
 * Go through the events of a replay's range, oldest first, and decide on each.
 *
 * @param enough beyond this many chosen events the filter may be skipped: they stay chosen.
 */
export async function chooseEvents(
  history: WholeHistory,
  replay: Replay,
  endpoint: Endpoint,
  limit: number,
  enough = limit,
): Promise<ChosenPage> {
  const { marks, nextCursor } = await readMarks(history, replay, limit);
  const choices = await decide(history, replay, endpoint, marks);
  // A delivery passed the filter when its event was published, and the type is not checked again either.
  if (endpoint.filter === undefined || isOfDeliveries(replay.mode)) return { choices, nextCursor };
  const filter = readStoredFilter(endpoint.filter);
  return { choices: await filtered(history, filter, endpoint, choices, enough), nextCursor };
}

function isOfDeliveries(mode: ReplayMode): boolean {
  return mode === 'failed' || mode === 'pending';
}

// They are in the endpoint's own list: far fewer than all of the account's events.
async function readMarks(
  history: WholeHistory,
  { accountId, endpointId, mode, since, until, cursor }: Replay,
  limit: number,
) {
  // Both ends belong to it.
  const query = { accountId, since, until: until + 1 };
  const span = { limit, after: cursor && { eventId: cursor.id as EventId, createdAt: cursor.at } };
  const { entries, nextCursor } = isOfDeliveries(mode)
    ? await history.walkDeliveries({ ...query, endpointId, isUndelivered: true }, span)
    : await history.walkEvents(query, span);
  const marks = entries.flatMap(({ row }) => row ?? []);
  return { marks, nextCursor: nextCursor && positionOf(nextCursor) };
}

function positionOf({ eventId: id, createdAt: at }: EventMark): Mark {
  return { id, at };
}

async function decide(
  history: WholeHistory,
  replay: Replay,
  { accountId, id: endpointId, events }: Endpoint,
  marks: readonly EventMark[],
): Promise<readonly EventChoice[]> {
  const deliveries = marks.map(({ eventId, createdAt }) => ({ eventId, createdAt, endpointId }));
  const [heads, states] = await Promise.all([
    history.readHeads(accountId, marks),
    history.readStates(accountId, deliveries),
  ]);
  return marks.map((mark, i) => {
    const [head, state] = [heads[i], states[i]];
    const position = positionOf(mark);
    // Its retention is over.
    if (!head) return { position, isChosen: false, isErased: false, isRequested: false };
    const candidate = { head, state: state ?? NOTHING_HAPPENED, hasDelivery: state !== undefined };
    const isWanted = isToBeSent(replay, events, candidate);
    const isErased = isWanted && head.erasedAt !== undefined;
    const isRequested = state?.requestIds.includes(replay.id) ?? false;
    return { position, isChosen: isWanted && !isErased, isErased, isRequested, group: head.group };
  });
}

/** The facts about an event that may be replayed. */
export interface Candidate {
  readonly head: EventHead;
  readonly state: DeliveryState;
  /** Whether a delivery of it to the endpoint exists or existed. */
  readonly hasDelivery: boolean;
}

/**
 * Whether a replay sends an event. An event that this replay requested already, in a step that broke off,
 * still counts.
 */
export function isToBeSent(
  { id, mode, createdAt }: ReplayOrder,
  events: readonly string[],
  { head, state, hasDelivery }: Candidate,
): boolean {
  if (state.requestIds.includes(id)) return true;
  // It was cancelled before it was due, or is not due yet.
  if (statusOfEvent(head) !== 'accepted') return false;
  const isAskedFor = events.some((filter) => matchesType(filter, head.type));
  switch (mode) {
    case 'failed':
      return !state.isOpen && state.status !== 'delivered';
    case 'pending':
      // Its own attempt was due meanwhile.
      return state.nextAttemptAt !== undefined && state.isOpen && !wasTriedSince(state, createdAt);
    case 'missing':
      return !hasDelivery && isAskedFor && !head.isAimed;
    case 'all':
      return isAskedFor && (hasDelivery ? !state.isOpen : !head.isAimed);
  }
}

function wasTriedSince({ attempts }: DeliveryState, since: number): boolean {
  return (attempts.at(-1)?.startedAt ?? 0) >= since;
}

// One after the other, so that only one payload is in memory at a time, and other work runs in between.
async function filtered(
  history: WholeHistory,
  filter: PayloadFilter,
  { accountId }: Endpoint,
  choices: readonly EventChoice[],
  enough: number,
): Promise<readonly EventChoice[]> {
  const left: EventChoice[] = [];
  let chosen = 0;
  for (const one of choices) {
    const isSure = !one.isChosen || one.isRequested || chosen >= enough;
    const isRefused = !isSure && !(await passes(history, filter, accountId, one.position));
    left.push(isRefused ? { ...one, isChosen: false } : one);
    chosen += Number(left.at(-1)?.isChosen);
  }
  return left;
}

async function passes(
  history: WholeHistory,
  filter: PayloadFilter,
  accountId: AccountId,
  { id }: Mark,
): Promise<boolean> {
  const event = await history.findEvent(accountId, id as EventId);
  await setImmediate();
  // Gone meanwhile: the sender finds that out.
  return event?.body === undefined || filter.matches(dataOf(event.body));
}

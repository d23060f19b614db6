import { type EndStatus, readSummary } from '../../domain/delivery-log';
import { dataTextIn, type EventHead } from '../../domain/event';
import { isDayExpired } from '../../domain/history-retention';
import type { MovedDelivery, MovedEvent } from '../../domain/moved-event';
import type { ClaimedEntry } from '../../events/redis-ended-list';
import type { EventPlace, SeenDelivery, SeenEvent } from '../../events/redis-moved';
import type { Clock } from '../../platform/clock';

/** The entries of one event in the list of finished deliveries, with their records in Redis. */
export interface EndedEvent extends EventPlace, SeenEvent {
  /** `undefined`: it is gone. */
  readonly head: EventHead | undefined;
  /** Whether it lapses already: a process died before it was off the list. */
  readonly hasLapsed?: boolean | undefined;
  /** For how many days its account's history is kept. Absent: as long as for any account. */
  readonly historyDays?: number | undefined;
  readonly entries: readonly EndedEntryRead[];
}

export interface EndedEntryRead {
  readonly entry: ClaimedEntry;
  /** Absent: the entry is an event without deliveries. */
  readonly delivery?: SeenDelivery | undefined;
}

export type MoveDecision =
  /** It is written to the history, and lapses in Redis. */
  | { readonly kind: 'move'; readonly delivery: MovedDelivery; readonly status: EndStatus }
  /** The event is written and lapses as well, if no delivery needs it. */
  | { readonly kind: 'move_event' }
  /** It is in the history, and parts of its event may still be in Redis: a process died while it lapsed. */
  | { readonly kind: 'moved' }
  /** Its event is gone. */
  | { readonly kind: 'gone' }
  /** The event is still fanned out: a fan-out that is repeated must find what it has made. */
  | { readonly kind: 'incomplete' }
  /** It is not finished, or was requested again. Its next end adds it to the list again. */
  | { readonly kind: 'open' };

/** An entry with the decision about it. */
export interface DecidedEntry extends EndedEntryRead {
  readonly decision: MoveDecision;
}

/** An event that moves, or leaves Redis, with some of its deliveries. */
export interface MovingEvent extends EndedEvent {
  readonly entries: readonly DecidedEntry[];
  /** The rows to write. Absent: the history has them, or the event is gone. */
  readonly moved?: MovedEvent | undefined;
}

/** After this time, a fan-out that has not finished will not continue. */
const FANNED_OUT_WITHIN_MS = 3_600_000;

/** The decision about an entry, by its record in Redis. */
export function decideMove(
  { head, listedAt, hasLapsed }: EndedEvent,
  { entry: { endpointId }, delivery }: EndedEntryRead,
  now: number,
): MoveDecision {
  if (head === undefined) return { kind: 'gone' };
  const isComplete = listedAt !== undefined || hasLapsed || head.acceptedAt <= now - FANNED_OUT_WITHIN_MS;
  if (!isComplete) return { kind: 'incomplete' };
  if (endpointId === undefined || delivery === undefined) return { kind: 'move_event' };
  const { log, isListed } = delivery;
  if (log === undefined) return { kind: isListed ? 'open' : 'moved' };
  const { isOpen, status } = readSummary(log);
  if (isOpen || status === 'pending') return { kind: 'open' };
  return { kind: 'move', delivery: { endpointId, log }, status };
}

/** An event as the history gets it, with some deliveries. `undefined`: it is not in the form of an event. */
export function toMoved(
  { accountId, eventId: id, text = '', head, listedAt, historyDays }: EndedEvent,
  { keepDays: usualDays, clock }: { readonly keepDays: number; readonly clock: Clock },
  deliveries: readonly MovedDelivery[],
): MovedEvent | undefined {
  if (head === undefined) return undefined;
  const dataText =
    head.erasedAt === undefined ? dataTextIn(text.slice(text.indexOf('\n') + 1), head.type) : undefined;
  if (head.erasedAt === undefined && dataText === undefined) return undefined;
  const createdAt = listedAt ?? head.acceptedAt;
  const keepDays = historyDays ?? usualDays;
  const moved = { accountId, id, createdAt, head, dataText, keepDays, deliveries };
  return isDayExpired(createdAt, keepDays, clock()) ? { ...moved, isExpired: true } : moved;
}

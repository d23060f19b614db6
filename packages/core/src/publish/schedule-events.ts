import type { AuditLog } from '../accounts/audit/redis-audit-log';
import type { UsageStore } from '../accounts/redis-usage-store';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import {
  type AcceptedEvent,
  type EventHead,
  type EventId,
  eventNotFound,
  type Schedule,
} from '../domain/event';
import type { Emit } from '../domain/signal';
import { EVENT_BYTES, lapseOf, type UsageChange } from '../domain/usage';
import type { EventStore } from '../events/redis-event-store';
import type { MovedIds } from '../events/redis-moved-ids';
import type { OverList } from '../events/redis-over-list';
import type { ScheduledEvents, SeenScheduled } from '../events/redis-scheduled-events';
import { AppError } from '../platform/app-error';
import { type Clock, formatTime } from '../platform/clock';
import { formatDuration } from '../platform/duration';
import { type Atomic, mapReply, together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { Mark, TimeRange } from '../platform/redis-timeline';
import type { ScheduledEntry, ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import type { Assumption } from './redis-assumption';
import type { IdempotencyStore } from './redis-idempotency-store';

/** Where scheduled events are kept. */
export interface ScheduleContext {
  readonly scheduledEvents: ScheduledEvents;
  readonly scheduledQueue: Pick<ScheduledQueue, 'addAll' | 'hasten' | 'place' | 'remove'>;
  readonly usageStore: Pick<UsageStore, 'stepToCount'>;
  /** How long events are kept after they were due. */
  readonly retention: { readonly ageMs: number };
  /** On the Redis of all of these. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Clocks differ, and requests take their time.
const PAST_MS = 60_000;

/**
 * The schedule of an event that is published now. `undefined`: it is sent at once.
 *
 * @param maxMs how far ahead it may be.
 * @throws AppError `deliver_at_in_past` for a time of more than a minute ago, `deliver_at_too_far`.
 */
export function scheduleOf(
  deliverAt: number | undefined,
  publishedAt: number,
  maxMs: number,
): Schedule | undefined {
  if (deliverAt === undefined) return undefined;
  requireWithin(deliverAt, publishedAt, maxMs);
  return deliverAt <= publishedAt ? undefined : { state: 'waiting', publishedAt, deliverAt };
}

/** Whether a time is too long ago for an event that is published now. */
export function isPast(deliverAt: number, now: number): boolean {
  return deliverAt < now - PAST_MS;
}

function requireWithin(deliverAt: number, now: number, maxMs: number): void {
  const refuse = (code: 'deliver_at_in_past' | 'deliver_at_too_far', detail: string) => {
    const validationErrors = [{ pointer: '/deliver_at', detail }];
    return new AppError(code, `The time to deliver the event ${detail}.`, { validationErrors });
  };
  if (isPast(deliverAt, now)) throw refuse('deliver_at_in_past', 'must not be more than a minute ago');
  if (deliverAt > now + maxMs) {
    throw refuse('deliver_at_too_far', `must be at most ${formatDuration(maxMs)} ahead`);
  }
}

export interface ScheduleEventsContext extends ScheduleContext {
  /** Absent: there is no history that an event moves to. */
  readonly movedIds?: Pick<MovedIds, 'guardsUnsettled'> | undefined;
  readonly idempotencyStore?: Pick<IdempotencyStore, 'keepUntil'> | undefined;
}

/**
 * Store events that are to be sent later. An event is stored, with its body, before its queue knows of it: a run
 * that breaks off leaves a record that lapses, and nothing that is sent. Repeating it is harmless.
 *
 * @param answer the name of the idempotent response that tells of them, which is kept for as long as they wait.
 * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
 */
export async function scheduleEvents(
  context: ScheduleEventsContext,
  events: readonly AcceptedEvent[],
  {
    answer,
    assumption,
    requireClaim,
  }: {
    readonly answer?: string | undefined;
    readonly assumption?: Assumption | undefined;
    readonly requireClaim?: Step | undefined;
  } = {},
): Promise<void> {
  if (events.length === 0) return;
  const guardsOf = (some: readonly AcceptedEvent[]): readonly Step[] => [
    ...(requireClaim === undefined ? [] : [requireClaim]),
    // One may have been sent or cancelled, and have moved, since its id was looked up.
    ...(context.movedIds?.guardsUnsettled(some, context.clock()) ?? []),
  ];
  const saved = new Set<AcceptedEvent>();
  // Together: in a Cluster each is a round trip.
  const save = (some: readonly AcceptedEvent[]): Step =>
    together(
      some.map((event) =>
        mapReply(context.scheduledEvents.save(event, answer), (isSaved) => {
          if (isSaved) saved.add(event);
        }),
      ),
    );
  const run = async (steps: readonly Step[]) => {
    const results = await (assumption ?? context).atomic(steps);
    return results.length === steps.length;
  };
  const isWhole = await run([...guardsOf(events), save(events), ...stepsOf(context, events, answer)]);
  for (const event of events) {
    // One that is known has kept all others from what comes after that.
    const first = saved.has(event) ? [] : [...guardsOf([event]), save([event])];
    const isNew = isWhole || (await run([...first, ...stepsOf(context, [event], answer)]));
    if (isNew) announce(context, event);
    else await completeKnown(context, event);
  }
}

/** What follows once they are stored, and only then. */
function stepsOf(
  context: ScheduleEventsContext,
  events: readonly AcceptedEvent[],
  answer: string | undefined,
): readonly Step[] {
  const { scheduledQueue, usageStore, idempotencyStore, retention, clock } = context;
  const until = Math.max(...events.map(({ acceptedAt }) => acceptedAt));
  const [first] = events;
  const steps: Step[] = [scheduledQueue.addAll(events.map(entryOf))];
  if (first === undefined) return steps;
  const { accountId } = first;
  const changes = events.map(({ acceptedAt, body }) => ({
    kind: 'events' as const,
    bytes: EVENT_BYTES + Buffer.byteLength(body),
    lapsesAt: lapseOf(acceptedAt, retention.ageMs),
  }));
  steps.push(usageStore.stepToCount(accountId, changes, clock()));
  if (answer !== undefined && idempotencyStore) {
    const slot = { accountId, name: answer };
    steps.push(idempotencyStore.keepUntil(slot, until));
  }
  return steps;
}

// The run that stored it may have broken off before its queue knew of it.
async function completeKnown(context: ScheduleContext, event: AcceptedEvent): Promise<void> {
  const { accountId, id: eventId } = event;
  const seen = await context.scheduledEvents.see(accountId, eventId);
  if (seen.state === 'waiting') {
    await context.atomic([
      context.scheduledQueue.addAll([{ accountId, eventId, deliverAt: seen.deliverAt }]),
    ]);
  }
}

function announce({ emit }: ScheduleContext, event: AcceptedEvent): void {
  const { accountId, id: eventId, type, acceptedAt: deliverAt } = event;
  emit({ name: 'event.scheduled', accountId, eventId, type, deliverAt });
}

function entryOf({ accountId, id: eventId, acceptedAt: deliverAt }: AcceptedEvent): ScheduledEntry {
  return { accountId, eventId, deliverAt };
}

export interface RescheduleContext extends ScheduleContext {
  readonly idempotencyStore: Pick<IdempotencyStore, 'keepUntil'>;
  readonly scheduleMaxMs: number;
  readonly auditLog?: Pick<AuditLog, 'record'>;
}

/**
 * Set another time for an event that waits. Its queue brings it up at the earlier of both times until it knows the new one: so
 * whatever breaks off, it is never late.
 *
 * @throws AppError `not_found`; `already_due` when it is sent, or was; `conflict` when it was cancelled;
 *   `deliver_at_in_past`, `deliver_at_too_far`.
 */
export async function rescheduleEvent(
  context: RescheduleContext,
  accountId: AccountId,
  eventId: EventId,
  deliverAt: number,
  act?: Act,
): Promise<void> {
  const { scheduledEvents, scheduledQueue, idempotencyStore, auditLog, emit } = context;
  requireWithin(deliverAt, context.clock(), context.scheduleMaxMs);
  const seen = await scheduledEvents.see(accountId, eventId);
  requireWaiting(seen);
  // First: nothing else could record it if the process died after its last step.
  const changes = [{ field: 'deliver_at', from: formatTime(seen.deliverAt), to: formatTime(deliverAt) }];
  if (act) await auditLog?.record({ act, accountId, targetId: eventId, changes });
  const entry = { accountId, eventId, deliverAt };
  const { answer: name } = seen;
  const [, isMoved] = await context.atomic([
    scheduledQueue.hasten(entry),
    scheduledEvents.move(accountId, eventId, deliverAt),
    scheduledQueue.place(entry),
    ...(name === undefined ? [] : [idempotencyStore.keepUntil({ accountId, name }, deliverAt)]),
    countMoved(context, accountId, seen, deliverAt),
  ]);
  if (!isMoved) {
    requireWaiting(await scheduledEvents.see(accountId, eventId));
    throw alreadyDue();
  }
  emit({ name: 'event.rescheduled', accountId, eventId, deliverAt });
}

/** Its bytes count until it lapses, which is at another time now. */
function countMoved(
  { usageStore, retention, clock }: ScheduleContext,
  accountId: AccountId,
  { deliverAt, bytes: ofBody }: SeenScheduled,
  movedTo: number,
): Step<void> {
  const bytes = EVENT_BYTES + ofBody;
  const change = (sign: 1 | -1, at: number): UsageChange => ({
    kind: 'events',
    bytes: sign * bytes,
    lapsesAt: lapseOf(at, retention.ageMs),
  });
  return usageStore.stepToCount(accountId, [change(-1, deliverAt), change(1, movedTo)], clock());
}

function requireWaiting({ state }: SeenScheduled): void {
  if (state === 'gone') throw eventNotFound();
  if (state === 'due') throw alreadyDue();
  if (state === 'cancelled') throw alreadyCancelled();
}

export function alreadyCancelled(): AppError {
  return new AppError('conflict', 'The event was cancelled: it cannot be rescheduled.');
}

export function alreadyDue(): AppError {
  return new AppError(
    'already_due',
    'The event is due already: it can no longer be rescheduled or cancelled.',
  );
}

export interface CancelContext extends ScheduleContext {
  readonly eventStore: Pick<EventStore, 'findHead' | 'enlistAll'>;
  /** Absent: there is no history that an event moves to. */
  readonly overList?: Pick<OverList, 'addAll'> | undefined;
  readonly auditLog?: Pick<AuditLog, 'record'>;
}

/**
 * Cancel an event that waits: it is sent to nobody, and stays recorded. Repeating it is harmless, and does what
 * an interrupted call has not.
 *
 * @throws AppError `not_found`; `already_due` when it is sent, or was.
 */
export async function cancelEvent(
  context: CancelContext,
  accountId: AccountId,
  eventId: EventId,
  act?: Act,
): Promise<void> {
  const { scheduledEvents, auditLog, clock, emit } = context;
  const seen = await scheduledEvents.see(accountId, eventId);
  if (seen.state === 'gone') throw eventNotFound();
  if (seen.state === 'due') throw alreadyDue();
  // First: nothing else could record it if the process died after its last step.
  if (act && seen.state === 'waiting') await auditLog?.record({ act, accountId, targetId: eventId });
  if (seen.state === 'waiting' && (await cancelWaiting(context, accountId, eventId, seen, clock()))) {
    emit({ name: 'event.cancelled', accountId, eventId });
  } else if (!(await completeCancelled(context, accountId, eventId))) throw alreadyDue();
}

async function cancelWaiting(
  context: CancelContext,
  accountId: AccountId,
  eventId: EventId,
  seen: SeenScheduled,
  now: number,
): Promise<boolean> {
  const [isCancelled] = await context.atomic([
    context.scheduledEvents.cancel(accountId, eventId, now),
    ...leaveQueue(context, accountId, eventId, now),
    countMoved(context, accountId, seen, now),
  ]);
  return isCancelled;
}

/** Do what a call that broke off has not. Gives whether the event is cancelled. */
async function completeCancelled(
  context: CancelContext,
  accountId: AccountId,
  eventId: EventId,
): Promise<boolean> {
  const head = await context.eventStore.findHead(accountId, eventId);
  if (head?.schedule?.state !== 'cancelled') return false;
  await context.atomic(leaveQueue(context, accountId, eventId, head.acceptedAt));
  return true;
}

function leaveQueue(
  { scheduledQueue, eventStore, overList }: CancelContext,
  accountId: AccountId,
  id: EventId,
  cancelledAt: number,
): readonly Step[] {
  const event = { accountId, id, acceptedAt: cancelledAt };
  return [
    eventStore.enlistAll([{ event, deliveries: 0 }]),
    ...(overList ? [overList.addAll([{ accountId, eventId: id }], cancelledAt)] : []),
    scheduledQueue.remove(accountId, [id]),
  ];
}

/**
 * Begin to send an event whose queue has brought it up. From here on it can't be moved or cancelled. Repeating it gives the
 * same event.
 *
 * @returns `undefined` when there is nothing to send now: it was moved or cancelled meanwhile, or
 *   has moved to the history. `lapsed` when nothing took it until its record had expired.
 */
export async function beginScheduled(
  context: CancelContext,
  { accountId, eventId, deliverAt }: ScheduledEntry,
): Promise<AcceptedEvent | 'lapsed' | undefined> {
  const begun = await context.scheduledEvents.begin(accountId, eventId, deliverAt);
  switch (begun.state) {
    case 'gone':
      // One that is gone sooner was sent before.
      return context.clock() >= deliverAt + context.retention.ageMs - PAST_MS ? 'lapsed' : undefined;
    case 'waiting':
      await context.atomic([
        context.scheduledQueue.addAll([{ accountId, eventId, deliverAt: begun.deliverAt }]),
      ]);
      return undefined;
    case 'cancelled':
      await completeCancelled(context, accountId, eventId);
      return undefined;
    case 'due': {
      const { event } = begun;
      // Its payload was erased: nobody gets it, and it is complete all the same.
      return event.body === undefined ? { ...event, body: '', endpointIds: [] } : event;
    }
  }
}

export interface ListScheduledContext {
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly scheduledQueue: Pick<ScheduledQueue, 'list'>;
}

export interface ScheduledPage {
  /** Those that are due next come first. */
  readonly found: readonly { readonly id: EventId; readonly head: EventHead }[];
  readonly nextCursor: Mark | undefined;
}

/** An account's events that wait for their time. */
export async function listScheduled(
  { eventStore, scheduledQueue }: ListScheduledContext,
  accountId: AccountId,
  limit: number,
  { after, ...range }: TimeRange & { readonly after?: Mark | undefined } = {},
): Promise<ScheduledPage> {
  const listed = await scheduledQueue.list(accountId, limit + 1, { range, after });
  const some = listed.slice(0, limit);
  const heads = await Promise.all(some.map(({ eventId }) => eventStore.findHead(accountId, eventId)));
  const found = some.flatMap(({ eventId: id }, i) => {
    const head = heads[i];
    return head?.schedule?.state === 'waiting' ? [{ id, head }] : [];
  });
  const last = listed.length > limit ? some.at(-1) : undefined;
  return { found, nextCursor: last && { id: last.eventId, at: last.deliverAt } };
}

import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import {
  type AcceptedEvent,
  type EventHead,
  type EventId,
  eventNotFound,
  type Schedule,
} from '../domain/event';
import { EVENT_BYTES, lapseOf, type UsageChange } from '../domain/usage';
import type { SeenScheduled } from '../events/redis-scheduled-event-store';
import { AppError } from '../platform/app-error';
import { formatTime } from '../platform/clock';
import { formatDuration } from '../platform/duration';
import { mapReply, together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { Mark, TimeRange } from '../platform/redis-timeline';
import type { ScheduledEntry } from '../queue/bullmq-scheduled-queue';
import type { Premise, PublishingParts } from './publishing-parts';

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

export interface ScheduledPage {
  /** Those that are due next come first. */
  readonly found: readonly { readonly id: EventId; readonly head: EventHead }[];
  readonly nextCursor: Mark | undefined;
}

/**
 * Events that wait for their time. The record of an event says whether it waits, is due, or was cancelled; its queue brings
 * it up.
 */
export class ScheduledEvents {
  constructor(private readonly parts: PublishingParts) {}

  async list(
    accountId: AccountId,
    limit: number,
    { after, ...range }: TimeRange & { readonly after?: Mark | undefined } = {},
  ): Promise<ScheduledPage> {
    const { eventStore, scheduledQueue } = this.parts;
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

  /**
   * Store events that are to be sent later. An event is stored, with its body, before its queue knows of it: a run
   * that breaks off leaves a record that lapses, and nothing that is sent. Repeating it is harmless.
   *
   * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
   */
  async add(events: readonly AcceptedEvent[], premise: Premise = {}): Promise<void> {
    if (events.length === 0) return;
    const { parts } = this;
    const saved = new Set<AcceptedEvent>();
    const save = (some: readonly AcceptedEvent[]) => stepsToSave(parts, some, premise, saved);
    const run = async (steps: readonly Step[]) => {
      const results = await (premise.assumption ?? parts).atomic(steps);
      return results.length === steps.length;
    };
    const isWhole = await run([...save(events), ...stepsAfterSave(parts, events, premise)]);
    for (const event of events) {
      // One that is known has kept all others from what comes after that.
      const first = saved.has(event) ? [] : save([event]);
      const isNew = isWhole || (await run([...first, ...stepsAfterSave(parts, [event], premise)]));
      if (isNew) announce(parts, event);
      else await completeKnown(parts, event);
    }
  }

  /**
   * Set another time for an event that waits. Its queue brings it up at the earlier of both times until it knows the new one:
   * so whatever breaks off, it is never late.
   *
   * @param wanted a time that has passed means now.
   * @throws AppError `not_found`; `already_due` when it is sent, or was; `conflict` when it was cancelled;
   *   `deliver_at_in_past`, `deliver_at_too_far`.
   */
  async reschedule(accountId: AccountId, eventId: EventId, wanted: number, act?: Act): Promise<void> {
    const { scheduledEventStore, scheduledQueue, idempotencyStore, auditLog, clock, emit } = this.parts;
    const now = clock();
    requireWithin(wanted, now, this.parts.scheduleMaxMs);
    // One that has just passed means now: it goes behind what was accepted before.
    const deliverAt = Math.max(wanted, now);
    const seen = await scheduledEventStore.see(accountId, eventId);
    requireWaiting(seen);
    // First: nothing else could record it if the process died after its last step.
    const changes = [{ field: 'deliver_at', from: formatTime(seen.deliverAt), to: formatTime(deliverAt) }];
    if (act) await auditLog.record({ act, accountId, targetId: eventId, changes });
    const entry = { accountId, eventId, deliverAt };
    const { answer: name } = seen;
    const [, isMoved] = await this.parts.atomic([
      scheduledQueue.hasten(entry),
      scheduledEventStore.move(accountId, eventId, deliverAt),
      scheduledQueue.place(entry),
      ...(name === undefined ? [] : [idempotencyStore.keepUntil({ accountId, name }, deliverAt)]),
      stepToCountMoved(this.parts, accountId, seen, deliverAt),
    ]);
    if (!isMoved) {
      requireWaiting(await scheduledEventStore.see(accountId, eventId));
      throw alreadyDue();
    }
    emit({ name: 'event.rescheduled', accountId, eventId, deliverAt });
  }

  /**
   * Cancel an event that waits: it is sent to nobody, and stays recorded. Repeating it is harmless, and does what
   * an interrupted call has not.
   *
   * @throws AppError `not_found`; `already_due` when it is sent, or was.
   */
  async cancel(accountId: AccountId, eventId: EventId, act?: Act): Promise<void> {
    const { scheduledEventStore, auditLog, clock, emit } = this.parts;
    const seen = await scheduledEventStore.see(accountId, eventId);
    if (seen.state === 'gone') throw eventNotFound();
    if (seen.state === 'due') throw alreadyDue();
    // First: nothing else could record it if the process died after its last step.
    if (act && seen.state === 'waiting') await auditLog.record({ act, accountId, targetId: eventId });
    if (seen.state === 'waiting' && (await this.#cancelWaiting(accountId, eventId, seen, clock()))) {
      emit({ name: 'event.cancelled', accountId, eventId });
    } else if (!(await this.#completeCancelled(accountId, eventId))) throw alreadyDue();
  }

  /**
   * Begin to send an event whose queue has brought it up. From here on it can't be moved or cancelled. Repeating it gives the
   * same event.
   *
   * @returns `undefined` when there is nothing to send now: it was moved or cancelled meanwhile, or
   *   has moved to the history. `lapsed` when nothing took it until its record had expired.
   */
  async begin({
    accountId,
    eventId,
    deliverAt,
  }: ScheduledEntry): Promise<AcceptedEvent | 'lapsed' | undefined> {
    const { scheduledEventStore, scheduledQueue, retention, atomic, clock } = this.parts;
    const begun = await scheduledEventStore.begin(accountId, eventId, deliverAt);
    switch (begun.state) {
      case 'gone':
        // One that is gone sooner was sent before.
        return clock() >= deliverAt + retention.ageMs - PAST_MS ? 'lapsed' : undefined;
      case 'waiting':
        await atomic([scheduledQueue.addAll([{ accountId, eventId, deliverAt: begun.deliverAt }])]);
        return undefined;
      case 'cancelled':
        await this.#completeCancelled(accountId, eventId);
        return undefined;
      case 'due': {
        const { event } = begun;
        // Its payload was erased: nobody gets it, and it is complete all the same.
        return event.body === undefined ? { ...event, body: '', endpointIds: [] } : event;
      }
    }
  }

  /**
   * Give an event of which Redis has lost something as it is sent again at once. Its queue does not help: it does not bring up
   * again what was sent to some.
   *
   * @returns `undefined` when it still waits for its time, or was cancelled.
   */
  async findLostDue(event: AcceptedEvent, schedule: Schedule): Promise<AcceptedEvent | undefined> {
    const { scheduledEventStore, clock } = this.parts;
    const seen = await scheduledEventStore.see(event.accountId, event.id);
    const isGone = seen.state === 'gone';
    const deliverAt = isGone ? event.acceptedAt : seen.deliverAt;
    const isDue = isGone ? deliverAt <= clock() : seen.state === 'due';
    if (!isDue) return undefined;
    return { ...event, acceptedAt: deliverAt, schedule: { ...schedule, state: 'due', deliverAt } };
  }

  async #cancelWaiting(
    accountId: AccountId,
    eventId: EventId,
    seen: SeenScheduled,
    now: number,
  ): Promise<boolean> {
    const [isCancelled] = await this.parts.atomic([
      this.parts.scheduledEventStore.cancel(accountId, eventId, now),
      ...stepsToLeaveQueue(this.parts, accountId, eventId, now),
      stepToCountMoved(this.parts, accountId, seen, now),
    ]);
    return isCancelled;
  }

  /** Do what a call that broke off has not. Gives whether the event is cancelled. */
  async #completeCancelled(accountId: AccountId, eventId: EventId): Promise<boolean> {
    const head = await this.parts.eventStore.findHead(accountId, eventId);
    if (head?.schedule?.state !== 'cancelled') return false;
    await this.parts.atomic(stepsToLeaveQueue(this.parts, accountId, eventId, head.acceptedAt));
    return true;
  }
}

/** @param saved gets those of which there was none. */
function stepsToSave(
  { scheduledEventStore, movedIds, clock }: PublishingParts,
  events: readonly AcceptedEvent[],
  { answer, requireClaim }: Premise,
  saved: Set<AcceptedEvent>,
): readonly Step[] {
  return [
    ...(requireClaim === undefined ? [] : [requireClaim]),
    // One may have been sent or cancelled, and have moved, since its id was looked up.
    ...(movedIds?.guardsUnsent(events, clock()) ?? []),
    // Together: in a Cluster each is a round trip.
    together(
      events.map((event) =>
        mapReply(scheduledEventStore.save(event, answer), (isSaved) => {
          if (isSaved) saved.add(event);
        }),
      ),
    ),
  ];
}

/** What follows once they are stored, and only then. */
function stepsAfterSave(
  { scheduledQueue, usageStore, idempotencyStore, retention, clock }: PublishingParts,
  events: readonly AcceptedEvent[],
  { answer }: Premise,
): readonly Step[] {
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
  if (answer !== undefined) {
    const slot = { accountId, name: answer };
    steps.push(idempotencyStore.keepUntil(slot, until));
  }
  return steps;
}

// The run that stored it may have broken off before its queue knew of it, or Redis has lost its place there.
async function completeKnown(
  { scheduledEventStore, scheduledQueue, atomic }: PublishingParts,
  event: AcceptedEvent,
): Promise<void> {
  const { accountId, id: eventId } = event;
  const seen = await scheduledEventStore.see(accountId, eventId);
  if (seen.state === 'waiting') {
    await atomic([scheduledQueue.addAll([{ accountId, eventId, deliverAt: seen.deliverAt }])]);
  }
}

function announce({ emit }: PublishingParts, event: AcceptedEvent): void {
  const { accountId, id: eventId, type, acceptedAt: deliverAt } = event;
  emit({ name: 'event.scheduled', accountId, eventId, type, deliverAt });
}

function entryOf({ accountId, id: eventId, acceptedAt: deliverAt }: AcceptedEvent): ScheduledEntry {
  return { accountId, eventId, deliverAt };
}

/** Its bytes count until it lapses, which is at another time now. */
function stepToCountMoved(
  { usageStore, retention, clock }: PublishingParts,
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

function stepsToLeaveQueue(
  { scheduledQueue, eventStore, endedList }: PublishingParts,
  accountId: AccountId,
  id: EventId,
  cancelledAt: number,
): readonly Step[] {
  const event = { accountId, id, acceptedAt: cancelledAt };
  return [
    eventStore.enlistAll([{ event, deliveries: 0 }]),
    ...(endedList ? [endedList.addAll([{ accountId, eventId: id }], cancelledAt)] : []),
    scheduledQueue.remove(accountId, [id]),
  ];
}

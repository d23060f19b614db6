import { announceEnd } from '../domain/announce-end';
import type { Transformed } from '../domain/attempt';
import type { BreakerState } from '../domain/breaker';
import type { DeliveryParts, DeliveryRun, Trigger } from '../domain/delivery';
import type { DeliveryFact } from '../domain/delivery-fact';
import type { CancelReason, DeliveryState } from '../domain/delivery-log';
import type { Endpoint } from '../domain/endpoint';
import type { AcceptedEvent, StoredEvent } from '../domain/event';
import { keys } from '../domain/keys';
import type { TraceContext } from '../domain/trace';
import { isDiscarded } from '../endpoints/discard';
import { findSigner, type Signer } from '../endpoints/signing-keys/signing-keys';
import type { DeliveryWithBreaker, LogLength } from '../events/redis-delivery-store';
import { graceOf } from '../events/redis-event-index';
import { steadyClock } from '../platform/clock';
import { findAccountSource } from './cloudevents';
import type { AttemptParts } from './open-delivery';

/** A delivery that can be tried now, with everything that its attempt needs. */
export interface ReadyDelivery {
  readonly kind: 'ready';
  readonly run: DeliveryRun;
  /**
   * When the read of what it has began, of a clock that never jumps. Milliseconds; −∞: it has waited since, for a time that
   * this process' clocks need not have counted.
   */
  readonly readAt: number;
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  /** Its account's key; absent where only its secret signs. */
  readonly signer?: Signer | undefined;
  /** The account's `source` of CloudEvents, if it has one and the endpoint asks for it. */
  readonly accountSource?: string | undefined;
  readonly breaker: BreakerState;
  readonly logLength: LogLength;
  /** The stored result of the webhook's code, sent instead of the event's body. */
  readonly transformed?: Transformed | undefined;
  /**
   * The version of the webhook's code, if this attempt decides what its round sends: its result for an earlier round, or
   * else it has to run.
   */
  readonly transformWith?: number | undefined;
  /** The number of its round of attempts: see `Round`. Its line in the log has it. */
  readonly roundNumber: number;
  readonly attemptNumber: number;
  readonly trigger: Trigger;
  /** Whether its event is a test of the endpoint. */
  readonly isTest: boolean;
  /** The number of the attempt in its round: 1, 2, … */
  readonly scheduledAttempt: number;
  /** Whether it was delivered before, and was requested once more. */
  readonly wasDelivered: boolean;
  /** When its event was accepted, or the delivery was requested. Milliseconds since the Unix epoch. */
  readonly begunAt: number;
  /** When it is cancelled if it is still open: its RETENTION is over then. Milliseconds since the Unix epoch. */
  readonly openUntil: number;
  /** When the previous attempt began. Absent: there was none. Milliseconds since the Unix epoch. */
  readonly previousStartedAt?: number | undefined;
  /** The position of the previous attempt in a trace, if it has one. */
  readonly previousTrace?: TraceContext | undefined;
}

export type LoadedDelivery =
  | ReadyDelivery
  /** The delivery has ended, maybe just now, because its payload or its endpoint is gone. */
  | { readonly kind: 'ended' }
  | {
      readonly kind: 'not_due';
      readonly dueAt: number;
      readonly endpoint: Endpoint;
      readonly event: Pick<AcceptedEvent, 'group'>;
    };

/**
 * Read everything that an attempt needs. End the delivery if there is no payload or no endpoint any more, or if it is
 * discarded.
 *
 * @param earlyMs how long before it is due its attempt may be made.
 */
export async function loadDelivery(
  parts: AttemptParts,
  run: DeliveryRun,
  earlyMs = 0,
): Promise<LoadedDelivery> {
  const readAt = run.texts?.readAt ?? steadyClock();
  const [read, endpoint, event] = await readAll(parts, run);
  const isRequested = run.request !== undefined && (endpoint || event);
  const found = isRequested ? await withRequest(parts, run, read) : read;
  const { state, length, breaker } = found;
  const openUntil = state.isOpen && event ? await openUntilOf(parts, state, event) : 0;
  const mayBeSent = openUntil > 0 && endpoint && event?.body !== undefined;
  // The job ran too early, after a crash or an error: the record knows when it is due.
  const { nextAttemptAt: dueAt = 0 } = state;
  if (mayBeSent && dueAt > parts.clock() + earlyMs) return { kind: 'not_due', dueAt, endpoint, event };
  const discards = mayBeSent && isDiscarded(endpoint, run.holds, state, event.acceptedAt);
  if (mayBeSent && !discards) {
    return {
      kind: 'ready',
      run,
      readAt,
      event,
      endpoint,
      // Most endpoints need no read here.
      signer: endpoint.signing === 'hmac' ? undefined : await findSigner(parts, run.accountId),
      accountSource: await findAccountSource(parts.accountStore, endpoint),
      breaker,
      logLength: length,
      openUntil,
      ...nextAttemptOf(state, event),
      ...contentOf(state, endpoint),
    };
  }
  const reason = discards ? 'discarded' : whyCancelled(endpoint, event);
  const ended = await endDelivery(parts, run, endpoint, event, found, reason);
  if (ended === 'changed') return await loadDelivery(parts, { ...run, texts: undefined }, earlyMs);
  return { kind: 'ended' };
}

async function readAll(
  { deliveryStore, endpointStore, eventStore }: AttemptParts,
  run: DeliveryRun,
): Promise<readonly [DeliveryWithBreaker, Endpoint | undefined, StoredEvent | undefined]> {
  const { accountId, endpointId, eventId, texts } = run;
  if (texts === undefined) {
    return await Promise.all([
      deliveryStore.readWithBreaker(run),
      endpointStore.find(accountId, endpointId),
      eventStore.find(accountId, eventId),
    ]);
  }
  return [
    deliveryStore.decodeWithBreaker(texts.log, texts.breaker),
    endpointStore.decode(accountId, endpointId, texts.endpoint),
    texts.event === undefined
      ? await eventStore.find(accountId, eventId)
      : eventStore.decode(accountId, eventId, texts.event, texts.readAt),
  ];
}

// The job of a request is added first, and its process may have died before the request was recorded.
async function withRequest(
  parts: AttemptParts,
  run: DeliveryRun,
  read: DeliveryWithBreaker,
): Promise<DeliveryWithBreaker> {
  const { request } = run;
  if (request === undefined || read.state.requestIds.includes(request.requestId)) return read;
  if ((await append(parts, run, { kind: 'requested', ...request }, read.length)) === 'gone') return read;
  return await withRequest(parts, run, await parts.deliveryStore.readWithBreaker(run));
}

/**
 * A delivery may be open for the RETENTION, from when its event was accepted or it was last requested. How long its event is kept does
 * not matter: others may need it for longer.
 *
 * @returns 0: it is over.
 */
async function openUntilOf(
  { eventStore, retention, clock }: AttemptParts,
  { round: { requestedAt } }: DeliveryState,
  { accountId, id, acceptedAt }: StoredEvent,
): Promise<number> {
  const now = clock();
  const begunAt = requestedAt ?? acceptedAt;
  const openUntil = begunAt + retention.ageMs;
  if (now >= openUntil) return 0;
  // The event would be gone before that.
  if (begunAt - acceptedAt > graceOf(retention) / 2) await eventStore.keep(accountId, id, begunAt - now);
  return openUntil;
}

// Not open: the worker died after recording the end, or the event was fanned out twice.
async function endDelivery(
  parts: AttemptParts,
  run: DeliveryRun,
  endpoint: Endpoint | undefined,
  event: StoredEvent | undefined,
  { state, length }: DeliveryWithBreaker,
  reason: CancelReason,
): Promise<'ended' | 'changed'> {
  if (state.isOpen) {
    const cancelled = await cancel(parts, run, endpoint, event, length, reason);
    if (cancelled !== 'appended') return cancelled === 'gone' ? 'ended' : 'changed';
  }
  if (endpoint || event) await parts.endedList?.add(run, parts.clock());
  if (endpoint) await leaveOrder(parts, endpoint, run);
  // It may have been entered after the endpoint's other deliveries were removed.
  else await parts.atomic([parts.besideLanes.leave(run.endpointId, run.eventId)]);
  return 'ended';
}

// Without event and endpoint nobody can read the record: its account may be erased, and none of its data must
// come back. What Redis has lost comes back, and the delivery gets another job then. What has moved has its end: a job that an
// older Redis brings back, for example, must not begin another record.
async function cancel(
  parts: AttemptParts,
  run: DeliveryRun,
  endpoint: Endpoint | undefined,
  event: StoredEvent | undefined,
  length: LogLength,
  reason: CancelReason,
): Promise<Appended> {
  if (await isLost(parts, run, endpoint, event)) return 'gone';
  if (!event && length === 0 && (await parts.pgHistory?.findDelivery(run.accountId, run))) return 'gone';
  if (endpoint || event) {
    const result = await append(parts, run, { kind: 'cancelled', reason }, length);
    if (result !== 'appended') return result;
    if (endpoint && event && reason === 'event_expired') await keepShown(parts, run, event);
    // Its job may have come back by itself, before a wake-up took the entry away.
    if (reason === 'discarded' && run.holds) await parts.heldDeliveries.forget(run, run.eventId);
  }
  announceEnd(parts, run, 'cancelled', event?.acceptedAt, event);
  return 'appended';
}

/** Whether PostgreSQL has what Redis has not: one node of a Cluster may have lost it, and another one has its job. */
async function isLost(
  { configurationCopy, pgIntake }: AttemptParts,
  { accountId, endpointId: field, eventId }: DeliveryRun,
  endpoint: Endpoint | undefined,
  event: StoredEvent | undefined,
): Promise<boolean> {
  if (!endpoint && (await configurationCopy?.has({ key: keys.endpoints(accountId), field }))) return true;
  return !event && ((await pgIntake?.has({ accountId, eventId })) ?? false);
}

// Its event is old: it is shown from now on as long as one that ends when its event is accepted.
async function keepShown(
  { eventStore, deliveryStore, heldDeliveries }: AttemptParts,
  run: DeliveryRun,
  { acceptedAt: createdAt }: StoredEvent,
): Promise<void> {
  const { accountId, endpointId, eventId } = run;
  const mark = { eventId, createdAt };
  await Promise.all([
    eventStore.keep(accountId, eventId, 0),
    eventStore.keepListed(accountId, mark),
    deliveryStore.keepListed(endpointId, mark),
    heldDeliveries.forget(run, eventId),
  ]);
}

type Appended =
  | 'appended'
  /** Another worker has continued it since its log was read. */
  | 'changed'
  /** Another worker has ended it, so long ago that the history has it, or nothing of it is left. */
  | 'gone';

/**
 * Append a fact to the log of a delivery. A worker that stood still may have lost its job: a log that it began again, of
 * a delivery that has moved meanwhile, would stand in front of the history's record of it. That of an account that was erased
 * would come back.
 */
async function append(
  parts: AttemptParts,
  run: DeliveryRun,
  fact: DeliveryFact,
  length: LogLength,
): Promise<Appended> {
  const { deliveryStore } = parts;
  if (length > 0) {
    if (await deliveryStore.appendIfUnchanged(run, fact, length)) return 'appended';
    return (await deliveryStore.hasLapsed(run)) ? 'gone' : 'changed';
  }
  const result = await deliveryStore.appendIfListed(run, fact);
  if (result !== 'not_listed') return result;
  // The process that fanned it out may have died before it was listed, or its endpoint's list is gone.
  if (await isGone(parts, run)) return 'gone';
  return (await deliveryStore.appendIfUnchanged(run, fact, length)) ? 'appended' : 'changed';
}

/**
 * Whether nothing is left of a delivery that has no log: another worker has ended it, and it has moved to the history, or its
 * account was erased. A delivery that was not tried yet has no log either, but a job.
 */
export async function isGone({ deliveryQueue }: AttemptParts, delivery: DeliveryParts): Promise<boolean> {
  return (await deliveryQueue.requestOf(delivery)) === 'no_job';
}

function whyCancelled(endpoint: Endpoint | undefined, event: StoredEvent | undefined): CancelReason {
  if (!endpoint) return 'endpoint_deleted';
  return event && event.body === undefined ? 'payload_erased' : 'event_expired';
}

function nextAttemptOf(
  { status, attempts, requestIds, round }: DeliveryState,
  { id, acceptedAt }: AcceptedEvent,
) {
  return {
    roundNumber: round.number,
    attemptNumber: attempts.length + 1,
    trigger: round.trigger,
    // A test is the request that its event was made for.
    isTest: requestIds.includes(id),
    scheduledAttempt: round.attempts + 1,
    wasDelivered: status === 'delivered',
    begunAt: round.requestedAt ?? acceptedAt,
    previousStartedAt: attempts.at(-1)?.startedAt,
    previousTrace: attempts.at(-1)?.trace,
  } as const;
}

/**
 * All attempts of a round (a first attempt and its retries) send the same bytes, even if the code changes meanwhile. The
 * code that is in force runs at the start of a round, and again after an attempt at which it failed.
 */
function contentOf({ round, transformed }: DeliveryState, { transformation }: Endpoint) {
  if (round.content) return round.content;
  if (!transformation?.isEnabled) return undefined;
  const { version } = transformation;
  return { transformWith: version, transformed: transformed?.version === version ? transformed : undefined };
}

/**
 * End a delivery that is not sent.
 *
 * @returns `changed`: another worker has continued it, and nothing was recorded.
 */
export async function endUnsent(
  parts: AttemptParts,
  { run, endpoint, event, logLength }: ReadyDelivery,
  fact: Extract<DeliveryFact, { kind: 'cancelled' | 'superseded' }>,
): Promise<{ readonly kind: 'ended' | 'changed' }> {
  const result = await append(parts, run, fact, logLength);
  if (result !== 'appended') return { kind: result === 'gone' ? 'ended' : 'changed' };
  await parts.endedList?.add(run, parts.clock());
  await leaveOrder(parts, endpoint, run);
  announceEnd(parts, run, fact.kind, event.acceptedAt, event);
  return { kind: 'ended' };
}

/**
 * Let the next delivery follow one that has ended, if the endpoint has an order. Otherwise nothing to do.
 */
async function leaveOrder(
  { besideLanes, releaser, atomic, clock }: AttemptParts,
  { accountId, id, ordering }: Endpoint,
  { eventId, lane }: DeliveryRun,
): Promise<void> {
  if (ordering === 'none' || lane?.isBesideJobs === false) return;
  const [hadPlace] = await atomic([besideLanes.leave(id, eventId)]);
  if (hadPlace) releaser.wakeUpAt(accountId, id, clock());
}

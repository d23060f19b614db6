import { type AnnounceEndContext, announceEnd } from '../domain/announce-end';
import type { BreakerState } from '../domain/breaker';
import type { DeliveryRun, Trigger } from '../domain/delivery';
import type { DeliveryState } from '../domain/delivery-log';
import type { Endpoint } from '../domain/endpoint';
import type { AcceptedEvent, EventId, StoredEvent } from '../domain/event';
import type { TraceContext } from '../domain/trace';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DeliveryStore, LogLength } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import type { Releaser } from './flow/releaser';

export interface LoadDeliveryContext extends AnnounceEndContext {
  readonly eventStore: Pick<EventStore, 'find'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithBreaker' | 'append' | 'appendIfUnchanged'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  readonly releaser: Pick<Releaser, 'wakeUpAt'>;
}

/** A delivery that can be tried now, with all that its attempt needs. */
export interface ReadyDelivery {
  readonly kind: 'ready';
  readonly run: DeliveryRun;
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly logLength: LogLength;
  /** How many attempts have decided so far what becomes of it. */
  readonly decidingAttempts: number;
  readonly attemptNumber: number;
  readonly trigger: Trigger;
  /** Whether its event was made to try the endpoint out. */
  readonly isTest: boolean;
  /** Which attempt of the schedule it is: 1, 2, … */
  readonly scheduledAttempt: number;
  /** Whether it was delivered before, and was requested once more. */
  readonly wasDelivered: boolean;
  /** When its event was accepted, or it was requested. Milliseconds since the Unix epoch. */
  readonly begunAt: number;
  /** Where the attempt before is in a trace, if it is in one. */
  readonly previousTrace?: TraceContext | undefined;
}

export type LoadedDelivery =
  | ReadyDelivery
  /** It has come to its end, be it just now because nothing can be sent any more. */
  | { readonly kind: 'over' }
  | { readonly kind: 'not_due'; readonly dueAt: number };

/** Reads what an attempt needs, and ends the delivery if there is no more to be sent, or nowhere to send it. */
export async function loadDelivery(context: LoadDeliveryContext, run: DeliveryRun): Promise<LoadedDelivery> {
  const [read, endpoint, event] = await Promise.all([
    context.deliveryStore.readWithBreaker(run),
    context.endpointStore.find(run.accountId, run.endpointId),
    context.eventStore.find(run.accountId, run.eventId),
  ]);
  const { state, length, breaker } = endpoint || event ? await withRequest(context, run, read) : read;
  if (state.isOpen && endpoint && event?.body !== undefined) {
    // It ran before its time, after a crash or an error: the record knows when it is due.
    const { nextAttemptAt: dueAt = 0 } = state;
    if (dueAt > context.clock()) return { kind: 'not_due', dueAt };
    return {
      kind: 'ready',
      run,
      event,
      endpoint,
      breaker,
      logLength: length,
      ...nextAttemptOf(state, event),
    };
  }
  // What is not open: a delivery whose worker died after it was put on record, or one fanned out twice.
  if (state.isOpen) await cancel(context, run, endpoint, event);
  if (endpoint) await leaveOrder(context, endpoint, run.eventId);
  return { kind: 'over' };
}

// The job of a request is added first, and its process may have died before the request was on record.
async function withRequest(
  context: LoadDeliveryContext,
  run: DeliveryRun,
  read: ReadWithBreaker,
): Promise<ReadWithBreaker> {
  const { deliveryStore } = context;
  const { request } = run;
  if (request === undefined || read.state.requestIds.includes(request.requestId)) return read;
  await deliveryStore.appendIfUnchanged(run, { kind: 'requested', ...request }, read.length);
  return await withRequest(context, run, await deliveryStore.readWithBreaker(run));
}

// Without event and endpoint nobody can read the record: its account may be erased, and nothing of it is to come back.
async function cancel(
  context: LoadDeliveryContext,
  run: DeliveryRun,
  endpoint: Endpoint | undefined,
  event: StoredEvent | undefined,
): Promise<void> {
  if (endpoint || event) {
    const reason = whyCancelled(endpoint, event);
    await context.deliveryStore.append(run, { kind: 'cancelled', reason });
  }
  announceEnd(context, run, 'cancelled', event?.acceptedAt, event?.trace);
}

type ReadWithBreaker = Awaited<ReturnType<DeliveryStore['readWithBreaker']>>;

function whyCancelled(endpoint: Endpoint | undefined, event: StoredEvent | undefined): string {
  if (!endpoint) return 'endpoint_deleted';
  return event ? 'payload_erased' : 'event_expired';
}

function nextAttemptOf(
  { status, attempts, decidingAttempts, requestIds, round }: DeliveryState,
  { id, acceptedAt }: AcceptedEvent,
) {
  return {
    decidingAttempts,
    attemptNumber: attempts.length + 1,
    trigger: round.trigger,
    // A test is the request that its event was made for.
    isTest: requestIds.includes(id),
    scheduledAttempt: round.attempts + 1,
    wasDelivered: status === 'delivered',
    begunAt: round.requestedAt ?? acceptedAt,
    previousTrace: attempts.at(-1)?.trace,
  } as const;
}

/** A delivery that has ended makes room for the one behind it, if they go one at a time. Otherwise nothing to do. */
async function leaveOrder(
  { admissionStore, releaser, clock }: LoadDeliveryContext,
  { accountId, id, ordering }: Endpoint,
  eventId: EventId,
): Promise<void> {
  if (ordering !== 'strict') return;
  await admissionStore.leaveOrder(id, eventId);
  releaser.wakeUpAt(accountId, id, clock());
}

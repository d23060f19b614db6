import type { Endpoint, EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AcceptedEvent, AccountId, EventId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { Admit, Ticket } from '../gates/admit';
import type { BreakerState } from '../gates/breaker';
import type { HandBack } from '../gates/hand-back';
import type { Hold } from '../gates/hold';
import type { InFlightWindows, PlaceUse } from '../gates/in-flight-windows';
import { type JobSide, otherSide } from '../gates/parked';
import type { PassTurn } from '../gates/pass-turn';
import type { BreakerStore } from '../gates/redis-breaker-store';
import type { Settle } from '../gates/settle';
import type { Clock } from '../runtime/clock';
import { persist } from '../runtime/persist';
import type { Emit } from '../signals/signals';
import type { Attempt, AttemptOutcome } from './attempt';
import { deliveryIdOf } from './delivery-id';
import type { DeliveryState } from './delivery-log';
import { judgeResult } from './judge-result';
import { prepareRequest, type RequestStyle } from './prepare-request';
import type { DeliveryStore } from './redis-delivery-store';
import { parseRetryAfter } from './retry-after';
import { decideRetry, type RetryDecision, type RetrySchedule } from './retry-policy';
import type { SendResult, Transport } from './transport';

export interface DeliverDeps {
  readonly eventStore: Pick<EventStore, 'find'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readState' | 'append'>;
  readonly breakerStore: Pick<BreakerStore, 'readBreaker'>;
  readonly windows: Pick<InFlightWindows, 'leave'>;
  readonly admit: Admit;
  readonly hold: Hold;
  readonly settle: Settle;
  readonly handBack: HandBack;
  readonly passTurn: PassTurn;
  readonly transport: Transport;
  readonly retrySchedule: RetrySchedule;
  readonly requestStyle: RequestStyle;
  readonly clock: Clock;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly emit: Emit;
}

export interface DeliverInput {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  /** Which of the delivery's two jobs this is. */
  readonly side: JobSide;
  /** Whether it waited at its endpoint's gate. */
  readonly wasReleased: boolean;
}

/** What is to become of the job. */
export type DeliverResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** This process has to let go of it in the middle of the attempt; nothing is on record, and it starts anew. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// What follows from an attempt that is on record is tried so often while Redis refuses it.
const FOLLOW_UP_EVERY_MS = 1_000;

/** A delivery that can be tried now, with all that its attempt needs. */
interface Ready {
  readonly kind: 'ready';
  readonly input: DeliverInput;
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly attemptNumber: number;
}

/** A request that was sent, and what came of it. */
interface Sent {
  readonly startedAt: number;
  readonly result: SendResult;
  readonly outcome: AttemptOutcome;
}

/**
 * One attempt of one delivery: load → admit → prepare → send → judge → decide → record → settle → announce.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`; after it, to none,
 * since the record says whether there is to be another one, and when.
 */
export function createDeliver(deps: DeliverDeps) {
  return async function deliver(input: DeliverInput, signal: AbortSignal): Promise<DeliverResult> {
    const ready = await load(input);
    if (ready.kind !== 'ready') return ready;

    const admission = await deps.admit({ ...input, ...ready });
    if (admission.kind === 'wait') {
      const { acceptedAt } = ready.event;
      await deps.hold({ ...input, acceptedAt, side: otherSide(input.side) }, admission);
      return DONE;
    }

    const sent = await send(ready, signal);
    if (isInterrupted(sent.result, signal)) {
      await deps.handBack({ ...ready, ticket: admission.ticket, wasInterrupted: true });
      return { kind: 'interrupted' };
    }

    const attempt = toAttempt(ready, sent);
    const decision = decide(attempt, sent.result);
    const nextAttemptAt = await record(input, attempt, decision);
    await followUp(ready, admission.ticket, attempt, decision, signal);
    announce(ready, attempt, decision);
    return nextAttemptAt === undefined ? DONE : retryAt(nextAttemptAt, attempt.outcome);
  };

  async function load(input: DeliverInput): Promise<Ready | DeliverResult> {
    const [state, endpoint, event, breaker] = await Promise.all([
      deps.deliveryStore.readState(input.endpointId, input.eventId),
      deps.endpointStore.find(input.accountId, input.endpointId),
      deps.eventStore.find(input.accountId, input.eventId),
      deps.breakerStore.readBreaker(input.endpointId),
    ]);
    if (!hasEnded(state) && endpoint && event) {
      // It ran before its time, after a crash or an error: the record knows when it is due.
      if ((state.nextAttemptAt ?? 0) > deps.clock()) return retryAt(state.nextAttemptAt ?? 0, 'not_due');
      return { kind: 'ready', input, event, endpoint, breaker, attemptNumber: state.attempts.length + 1 };
    }
    if (!hasEnded(state)) await cancel(input, endpoint ? 'event_expired' : 'endpoint_deleted', event);
    if (endpoint) await deps.passTurn(endpoint, input.eventId);
    return DONE;
  }

  async function cancel(
    input: DeliverInput,
    reason: string,
    event: AcceptedEvent | undefined,
  ): Promise<void> {
    await deps.deliveryStore.append(input, { kind: 'cancelled', reason });
    announceEnd(input, 'cancelled', event);
  }

  // The place at the endpoint is free again as soon as its receiver has answered, whatever happens then.
  async function send(ready: Ready, signal: AbortSignal): Promise<Sent> {
    const startedAt = deps.clock();
    let use: PlaceUse = 'failed';
    try {
      const request = prepareRequest(
        { ...ready, attempt: ready.attemptNumber, now: startedAt },
        deps.requestStyle,
      );
      const result = await deps.transport(request, signal);
      const outcome = judgeResult(result);
      if (outcome === 'delivered') use = 'succeeded';
      else if (isInterrupted(result, signal)) use = 'unused';
      return { startedAt, result, outcome };
    } finally {
      deps.windows.leave(ready.endpoint.id, use);
    }
  }

  function toAttempt({ attemptNumber }: Ready, { startedAt, result, outcome }: Sent): Attempt {
    return {
      number: attemptNumber,
      startedAt,
      durationMs: deps.clock() - startedAt,
      outcome,
      ...(result.kind === 'failed' ? { error: result.error } : { responseStatus: result.status }),
      ...(result.kind === 'answered' && result.body !== '' ? { responseBody: result.body } : {}),
    };
  }

  function decide(attempt: Attempt, result: SendResult): RetryDecision | { readonly kind: 'delivered' } {
    if (attempt.outcome === 'delivered') return { kind: 'delivered' };
    const retryAfter = result.kind === 'answered' ? result.retryAfter : undefined;
    return decideRetry({
      schedule: deps.retrySchedule,
      attempt: attempt.number,
      retryAfterMs: parseRetryAfter(retryAfter, deps.clock()),
      random: deps.random(),
    });
  }

  async function record(
    input: DeliverInput,
    attempt: Attempt,
    decision: ReturnType<typeof decide>,
  ): Promise<number | undefined> {
    const nextAttemptAt = decision.kind === 'retry' ? deps.clock() + decision.delayMs : undefined;
    await deps.deliveryStore.append(input, { kind: 'attempted', attempt, nextAttemptAt });
    return nextAttemptAt;
  }

  // The attempt is on record and is not made again, so nothing else would do what follows from it.
  async function followUp(
    ready: Ready,
    ticket: Ticket,
    attempt: Attempt,
    decision: ReturnType<typeof decide>,
    signal: AbortSignal,
  ): Promise<void> {
    const { endpoint, input } = ready;
    const onFailure = (error: unknown) =>
      deps.emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(input), error });
    const steps = [
      () => deps.handBack({ ...ready, ticket, wasInterrupted: false }),
      () => settle(ready, attempt),
      async () => {
        if (decision.kind !== 'retry') await deps.passTurn(endpoint, input.eventId);
      },
    ];
    for (const step of steps) await persist(step, { everyMs: FOLLOW_UP_EVERY_MS, signal, onFailure });
  }

  function retryAt(time: number, reason: string): DeliverResult {
    return { kind: 'retry', delayMs: Math.max(time - deps.clock(), 0), reason };
  }

  async function settle({ input, endpoint, breaker }: Ready, attempt: Attempt): Promise<void> {
    await deps.settle({
      endpoint,
      breaker,
      delivered: attempt.outcome === 'delivered',
      responseStatus: attempt.responseStatus,
      wasReleased: input.wasReleased,
    });
  }

  function announce({ input, event }: Ready, attempt: Attempt, decision: ReturnType<typeof decide>): void {
    deps.emit({
      name: 'delivery.attempted',
      deliveryId: deliveryIdOf(input),
      eventId: input.eventId,
      endpointId: input.endpointId,
      type: event.type,
      attempt: attempt.number,
      outcome: attempt.outcome,
      durationMs: attempt.durationMs,
      ...(attempt.responseStatus === undefined ? {} : { responseStatus: attempt.responseStatus }),
      ...(decision.kind === 'retry' ? { nextDelayMs: decision.delayMs } : {}),
    });
    if (decision.kind !== 'retry') announceEnd(input, decision.kind, event);
  }

  function announceEnd(
    input: DeliverInput,
    status: 'delivered' | 'exhausted' | 'cancelled',
    event: AcceptedEvent | undefined,
  ): void {
    deps.emit({
      name: 'delivery.ended',
      deliveryId: deliveryIdOf(input),
      eventId: input.eventId,
      endpointId: input.endpointId,
      status,
      lagMs: event === undefined ? 0 : deps.clock() - event.acceptedAt,
    });
  }
}

export type Deliver = ReturnType<typeof createDeliver>;

// A delivery whose worker died after `record` and before the job's end, or one fanned out twice.
function hasEnded(state: DeliveryState): boolean {
  return state.status !== 'pending';
}

function isInterrupted(result: SendResult, signal: AbortSignal): boolean {
  return signal.aborted && result.kind === 'failed';
}

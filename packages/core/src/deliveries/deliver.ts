import type { Endpoint, EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AcceptedEvent, AccountId, EventId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { Admission, Admit } from '../gates/admit';
import type { BreakerState } from '../gates/breaker';
import type { Hold } from '../gates/hold';
import type { InFlightWindows } from '../gates/in-flight-windows';
import type { Lane, Lanes } from '../gates/lanes';
import type { Move } from '../gates/move';
import type { GateStore, JobSide } from '../gates/redis-gate-store';
import type { Settle } from '../gates/settle';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import type { Attempt, AttemptOutcome } from './attempt';
import { deliveryIdOf } from './delivery-id';
import type { DeliveryState, EndStatus } from './delivery-log';
import { judgeResult } from './judge-result';
import { prepareRequest, type RequestStyle } from './prepare-request';
import { type ReceiverWish, readReceiverWish } from './receiver-wish';
import type { DeliveryStore } from './redis-delivery-store';
import { parseRetryAfter } from './retry-after';
import { decideRetry, type RetryDecision, type RetrySchedule } from './retry-policy';
import type { SendResult, SentResult, Transport } from './transport';

export interface DeliverDeps {
  readonly eventStore: Pick<EventStore, 'find'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readState' | 'append'>;
  readonly gateStore: Pick<GateStore, 'readBreaker'>;
  readonly windows: Pick<InFlightWindows, 'leave'>;
  readonly admit: Admit;
  readonly lanes: Pick<Lanes, 'leave' | 'learn'>;
  readonly hold: Hold;
  readonly move: Move;
  readonly settle: Settle;
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
  /** Which of the two queues the job is on. */
  readonly lane: Lane;
}

/** What is to become of the job. */
export type DeliverResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** The request could not leave us, by none of the receiver's faults; nothing is on record. */
  | { readonly kind: 'again'; readonly delayMs: number }
  /** This process has to let go of it in the middle of the attempt; nothing is on record, and it starts anew. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// Soon enough for a proxy that was restarted, and seldom enough for one that stays away.
const UNSENT_DELAY_MS = 5_000;

/** A delivery that can be tried now, with all that its attempt needs. */
interface Ready {
  readonly input: DeliverInput;
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly attemptNumber: number;
}

type Admitted = Extract<Admission, { kind: 'admitted' }>;

/** A request that was sent, and what came of it. */
interface Sent {
  readonly kind: 'sent';
  readonly startedAt: number;
  readonly result: SentResult;
  readonly outcome: AttemptOutcome;
  readonly wish: ReceiverWish;
}

type Unsent = Extract<SendResult, { readonly kind: 'unsent' }>;

type Decision = RetryDecision | { readonly kind: 'delivered' } | { readonly kind: 'aborted' };

/**
 * One attempt of one delivery: load → admit → prepare → send → judge → decide → record → settle → announce.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`; after it,
 * to none, since a delivery that has come to its end is not sent again.
 */
export function createDeliver(deps: DeliverDeps) {
  return async function deliver(input: DeliverInput, signal: AbortSignal): Promise<DeliverResult> {
    const ready = await load(input);
    if (!ready) return DONE;

    const admission = await deps.admit(ready.endpoint, ready.breaker, input.lane);
    if (admission.kind === 'wait') {
      await deps.hold({ ...input, acceptedAt: ready.event.acceptedAt }, admission);
      return DONE;
    }
    if (admission.kind === 'move') {
      await deps.move(input, admission);
      return DONE;
    }

    const sent = await send(ready, admission, signal);
    if (signal.aborted && !wasAnswered(sent)) return { kind: 'interrupted' };
    if (sent.kind === 'unsent') return tryAgain(input, sent);

    const attempt = toAttempt(ready, sent);
    deps.lanes.learn(input.endpointId, attempt);
    const decision = decide(ready.endpoint, attempt, sent);
    await record(input, attempt, decision);
    await settle(ready, attempt, sent.wish);
    announce(ready, attempt, decision);
    return decision.kind === 'retry' ? { ...decision, reason: attempt.outcome } : DONE;
  };

  async function load(input: DeliverInput): Promise<Ready | undefined> {
    const [state, endpoint, event, breaker] = await Promise.all([
      deps.deliveryStore.readState(input.endpointId, input.eventId),
      deps.endpointStore.find(input.accountId, input.endpointId),
      deps.eventStore.find(input.accountId, input.eventId),
      deps.gateStore.readBreaker(input.endpointId),
    ]);
    if (hasEnded(state)) return undefined;
    if (!endpoint) return cancel(input, 'endpoint_deleted', event);
    if (!event) return cancel(input, 'event_expired', event);
    return { input, event, endpoint, breaker, attemptNumber: state.attempts.length + 1 };
  }

  async function cancel(
    input: DeliverInput,
    reason: string,
    event: AcceptedEvent | undefined,
  ): Promise<undefined> {
    await deps.deliveryStore.append(input, { kind: 'cancelled', reason });
    announceEnd(input, 'cancelled', event);
  }

  // The place at the endpoint is free again as soon as its receiver has answered, whatever happens then.
  async function send(ready: Ready, admission: Admitted, signal: AbortSignal): Promise<Sent | Unsent> {
    const startedAt = deps.clock();
    let outcome: AttemptOutcome | undefined;
    try {
      const request = prepareRequest(
        { ...ready, attempt: ready.attemptNumber, now: startedAt },
        deps.requestStyle,
      );
      const result = await deps.transport(request, signal);
      if (result.kind === 'unsent') return result;
      outcome = judgeResult(result);
      const wish = readReceiverWish(result, outcome === 'delivered');
      return { kind: 'sent', startedAt, result, outcome, wish };
    } finally {
      deps.windows.leave(ready.endpoint.id, outcome === 'delivered');
      deps.lanes.leave(admission);
    }
  }

  function tryAgain({ eventId, endpointId }: DeliverInput, { error }: Unsent): DeliverResult {
    deps.emit({ name: 'delivery.unsent', eventId, endpointId, error });
    return { kind: 'again', delayMs: UNSENT_DELAY_MS };
  }

  function toAttempt({ attemptNumber }: Ready, { startedAt, result, outcome }: Sent): Attempt {
    return {
      number: attemptNumber,
      startedAt,
      durationMs: deps.clock() - startedAt,
      timings: result.timings,
      outcome,
      ...(result.kind === 'failed' ? { error: result.error } : { responseStatus: result.status }),
      ...(result.kind === 'answered' && result.body !== '' ? { responseBody: result.body } : {}),
    };
  }

  function decide(endpoint: Endpoint, attempt: Attempt, { result, wish }: Sent): Decision {
    if (attempt.outcome === 'delivered') return { kind: 'delivered' };
    if (wish.aborts) return { kind: 'aborted' };
    const retryAfter = result.kind === 'answered' ? result.retryAfter : undefined;
    return decideRetry({
      schedule: endpoint.retrySchedule ?? deps.retrySchedule,
      attempt: attempt.number,
      retryAfterMs: parseRetryAfter(retryAfter, deps.clock()),
      random: deps.random(),
    });
  }

  async function record(input: DeliverInput, attempt: Attempt, decision: Decision): Promise<void> {
    const nextAttemptAt = decision.kind === 'retry' ? deps.clock() + decision.delayMs : undefined;
    await deps.deliveryStore.append(input, {
      kind: 'attempted',
      attempt,
      nextAttemptAt,
      isAborted: decision.kind === 'aborted',
    });
  }

  async function settle(
    { input, endpoint, breaker }: Ready,
    attempt: Attempt,
    { disabledBy }: ReceiverWish,
  ): Promise<void> {
    await deps.settle({
      endpoint,
      breaker,
      delivered: attempt.outcome === 'delivered',
      disabledBy,
      wasReleased: input.wasReleased,
    });
  }

  function announce({ input, event }: Ready, attempt: Attempt, decision: Decision): void {
    deps.emit({
      name: 'delivery.attempted',
      deliveryId: deliveryIdOf(input),
      eventId: input.eventId,
      endpointId: input.endpointId,
      type: event.type,
      attempt: attempt.number,
      outcome: attempt.outcome,
      durationMs: attempt.durationMs,
      ...attempt.timings,
      ...(attempt.responseStatus === undefined ? {} : { responseStatus: attempt.responseStatus }),
      ...(decision.kind === 'retry' ? { nextDelayMs: decision.delayMs } : {}),
    });
    if (decision.kind !== 'retry') announceEnd(input, decision.kind, event);
  }

  function announceEnd(input: DeliverInput, status: EndStatus, event: AcceptedEvent | undefined): void {
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

function wasAnswered(sent: Sent | Unsent): boolean {
  return sent.kind === 'sent' && sent.result.kind === 'answered';
}

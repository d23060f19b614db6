import type { Concurrency, Place } from '../admission/concurrency';
import type { Clock } from '../kernel/clock';
import type { Attempt, AttemptOutcome } from '../model/attempt';
import type { Emit } from '../model/signal';
import type { AttemptSpan, BeginSpan } from '../model/trace';
import { judgeResult, type ReceiverWish, readReceiverWish } from './judge-result';
import type { ReadyDelivery } from './load-delivery';
import { prepareRequest, type RequestStyle } from './prepare-request';
import { traceAttempt } from './trace-attempt';
import type { SendResult, SentResult, Transport } from './transport';

export interface SendAttemptDeps {
  readonly concurrency: Pick<Concurrency, 'leave'>;
  readonly transport: Transport;
  readonly requestStyle: RequestStyle;
  /** Stands for this process on record. */
  readonly workerId: string;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type SendOutcome =
  | SentAttempt
  /** The request could not leave us, by none of the receiver's faults. */
  | Extract<SendResult, { kind: 'unsent' }>
  /** This process had to let go of it before there was an answer, or may have lost it before it began. */
  | { readonly kind: 'interrupted' };

/** A request that was sent, and what came of it. */
export interface SentAttempt {
  readonly kind: 'sent';
  readonly attempt: Attempt;
  readonly wish: ReceiverWish;
  /** The response's `Retry-After`, as it came. */
  readonly retryAfter: string | undefined;
  /** Absent where traces are not wanted. */
  readonly span: AttemptSpan | undefined;
}

/** Prepares and sends the request of an attempt that was admitted, and judges what comes of it. */
export function createSendAttempt(deps: SendAttemptDeps) {
  const { concurrency, transport, requestStyle, workerId, beginSpan, clock, emit } = deps;

  // The place at the endpoint is free again as soon as its receiver has answered, whatever happens then.
  return async function sendAttempt(
    ready: ReadyDelivery,
    place: Place,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let attempt: Attempt | undefined;
    try {
      const outcome = await send(ready, signal);
      attempt = outcome.kind === 'sent' ? outcome.attempt : undefined;
      return outcome;
    } finally {
      concurrency.leave(place, attempt);
      if (place.slot.isSlow) announceSlow(ready, place);
    }
  };

  function announceSlow({ run: { endpointId, eventId } }: ReadyDelivery, { isStranger }: Place): void {
    emit({ name: 'delivery.moved', endpointId, eventId, reason: isStranger ? 'stranger' : 'slow' });
  }

  async function send(ready: ReadyDelivery, signal: AbortSignal): Promise<SendOutcome> {
    const startedAt = clock();
    // A process that was stopped for long begins nothing that another one may be at by now.
    if (startedAt >= ready.run.ownedUntil) return { kind: 'interrupted' };
    const { event, endpoint, attemptNumber: attempt, isTest } = ready;
    const span = beginSpan && traceAttempt(ready, beginSpan, startedAt);
    const input = { event, endpoint, attempt, isTest, trace: span?.context, now: startedAt };
    const request = prepareRequest(input, requestStyle);
    const result = await transport(request, signal);
    if (signal.aborted && result.kind !== 'answered') return { kind: 'interrupted' };
    if (result.kind === 'unsent') return result;
    const outcome = judgeResult(result);
    return {
      kind: 'sent',
      attempt: toAttempt(ready, startedAt, outcome, result, span),
      wish: readReceiverWish(result, outcome === 'delivered'),
      retryAfter: result.kind === 'answered' ? result.retryAfter : undefined,
      span,
    };
  }

  function toAttempt(
    { attemptNumber: number, trigger, endpoint }: ReadyDelivery,
    startedAt: number,
    outcome: AttemptOutcome,
    result: SentResult,
    span: AttemptSpan | undefined,
  ): Attempt {
    const answer = result.kind === 'answered' ? result : undefined;
    return {
      number,
      trigger: trigger === 'schedule' ? undefined : trigger,
      startedAt,
      durationMs: clock() - startedAt,
      timings: result.timings,
      outcome,
      responseStatus: answer?.status,
      error: result.kind === 'failed' ? result.error : undefined,
      responseBody: answer?.body === '' ? undefined : answer?.body,
      // Of a success nobody asks for them, and there are many more of those.
      responseHeaders: outcome === 'delivered' ? undefined : answer?.headers,
      addedHeaders: endpoint.headers && Object.keys(endpoint.headers),
      worker: workerId,
      trace: outcome === 'delivered' ? undefined : span?.context,
    };
  }
}

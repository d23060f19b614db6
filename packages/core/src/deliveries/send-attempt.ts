import type { Admitted } from '../gates/admit';
import type { InFlightWindows, PlaceUse } from '../gates/in-flight-windows';
import type { Lanes } from '../gates/lanes';
import type { Clock } from '../runtime/clock';
import type { Attempt, AttemptOutcome } from './attempt';
import { judgeResult } from './judge-result';
import type { ReadyDelivery } from './load-delivery';
import { prepareRequest, type RequestStyle } from './prepare-request';
import { type ReceiverWish, readReceiverWish } from './receiver-wish';
import type { SendResult, SentResult, Transport } from './transport';

export interface SendAttemptDeps {
  readonly windows: Pick<InFlightWindows, 'leave'>;
  readonly lanes: Pick<Lanes, 'leave' | 'learn'>;
  readonly transport: Transport;
  readonly requestStyle: RequestStyle;
  /** Stands for this process on record. */
  readonly workerId: string;
  readonly clock: Clock;
}

export type SendOutcome =
  | SentAttempt
  /** The request could not leave us, by none of the receiver's faults. */
  | Extract<SendResult, { kind: 'unsent' }>
  /** This process had to let go of it before there was an answer. */
  | { readonly kind: 'interrupted' };

/** A request that was sent, and what came of it. */
export interface SentAttempt {
  readonly kind: 'sent';
  readonly attempt: Attempt;
  readonly wish: ReceiverWish;
  /** The response's `Retry-After`, as it came. */
  readonly retryAfter: string | undefined;
}

/** Prepares and sends the request of an attempt that was admitted, and judges what comes of it. */
export function createSendAttempt(deps: SendAttemptDeps) {
  const { windows, lanes, transport, requestStyle, workerId, clock } = deps;

  // The place at the endpoint is free again as soon as its receiver has answered, whatever happens then.
  return async function sendAttempt(
    ready: ReadyDelivery,
    admitted: Admitted,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let use: PlaceUse = 'failed';
    try {
      const outcome = await send(ready, signal);
      use = useOf(outcome);
      if (outcome.kind === 'sent') lanes.learn(ready.endpoint.id, outcome.attempt);
      return outcome;
    } finally {
      windows.leave(ready.endpoint.id, use);
      lanes.leave(admitted);
    }
  };

  async function send(ready: ReadyDelivery, signal: AbortSignal): Promise<SendOutcome> {
    const startedAt = clock();
    const { event, endpoint, attemptNumber: attempt } = ready;
    const request = prepareRequest({ event, endpoint, attempt, now: startedAt }, requestStyle);
    const result = await transport(request, signal);
    if (signal.aborted && result.kind !== 'answered') return { kind: 'interrupted' };
    if (result.kind === 'unsent') return result;
    const outcome = judgeResult(result);
    return {
      kind: 'sent',
      attempt: toAttempt(ready, startedAt, outcome, result),
      wish: readReceiverWish(result, outcome === 'delivered'),
      retryAfter: result.kind === 'answered' ? result.retryAfter : undefined,
    };
  }

  function toAttempt(
    { attemptNumber: number, trigger, endpoint }: ReadyDelivery,
    startedAt: number,
    outcome: AttemptOutcome,
    result: SentResult,
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
    };
  }
}

function useOf(outcome: SendOutcome): PlaceUse {
  if (outcome.kind !== 'sent') return 'unused';
  return outcome.attempt.outcome === 'delivered' ? 'succeeded' : 'failed';
}

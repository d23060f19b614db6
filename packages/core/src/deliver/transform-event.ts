import type { Transformed } from '../domain/attempt';
import { AppError } from '../platform/app-error';
import { describeFault, runTransformation, type TransformResult } from '../transform/run-transformation';
import { endUnsent, isGone, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { attemptWithoutRequest, type SentAttempt, type UnsentRequest } from './send-attempt';

export type TransformedDelivery =
  /** The body to send is recorded. After a crash, the same bytes are sent. */
  | ReadyDelivery
  /** The code has failed: an attempt without a request. */
  | SentAttempt
  | UnsentRequest
  /** The code has cancelled the delivery, so it has ended. */
  | { readonly kind: 'ended' }
  /** Another worker has continued it, or its payload was erased: it has to be read again. */
  | { readonly kind: 'changed' };

/**
 * Run the endpoint's code on the event, if it has code and the result is not stored yet. A new round of attempts may send
 * what that code has made before: that is noted as well.
 */
export async function transformEvent(
  parts: AttemptParts,
  ready: ReadyDelivery,
): Promise<TransformedDelivery> {
  if (ready.transformWith === undefined) return ready;
  if (ready.transformed) return await keep(parts, ready, ready.transformed, 'reused');
  const startedAt = parts.clock();
  const result = await runCode(parts, ready, ready.transformWith);
  if (result.kind === 'unsent') return result;
  announceRun(parts, ready, result);
  switch (result.kind) {
    case 'made':
      return await keep(
        parts,
        { ...ready, readAt: Number.NEGATIVE_INFINITY },
        { version: ready.transformWith, body: result.body, headers: result.headers },
        'transformed',
      );
    case 'cancelled':
      return await endUnsent(parts, ready, { kind: 'cancelled', reason: 'transformation' });
    case 'failed':
      return attemptWithoutRequest(parts, ready, startedAt, {
        outcome: 'transform_error',
        error: describeFault(result.fault),
      });
  }
}

async function runCode(
  parts: AttemptParts,
  { event, endpoint, attemptNumber: attempt }: ReadyDelivery,
  version: number,
): Promise<TransformResult | UnsentRequest> {
  const saved = await parts.transformationStore.find(endpoint.id, version);
  // The code has changed so often since the endpoint was read that this version is no longer kept.
  if (!saved) return { kind: 'unsent', error: `Version ${version} of the transformation no longer exists.` };
  try {
    return await runTransformation(parts, saved.code, { event, endpoint, attempt });
  } catch (error) {
    if (!(error instanceof AppError)) return { kind: 'unsent', error: String(error) };
    if (error.code !== 'rate_limited') throw error;
    const { message, retryAfterMs } = error;
    return {
      kind: 'unsent',
      error: message,
      ...(retryAfterMs === undefined ? {} : { pausedForMs: retryAfterMs }),
    };
  }
}

function announceRun(
  { emit }: AttemptParts,
  { run: { accountId, endpointId, eventId } }: ReadyDelivery,
  { kind, tookMs }: TransformResult,
): void {
  emit({ name: 'delivery.transformed', accountId, endpointId, eventId, result: kind, tookMs });
}

async function keep(
  parts: AttemptParts,
  ready: ReadyDelivery,
  transformed: Transformed,
  kind: 'transformed' | 'reused',
): Promise<ReadyDelivery | { readonly kind: 'changed' }> {
  const { deliveryStore, noteUsage } = parts;
  const { run, logLength } = ready;
  const fact = kind === 'reused' ? { kind, version: transformed.version } : { kind, transformed };
  const append = async (mustBeListed: boolean) =>
    await deliveryStore.appendTransformed(run, fact, logLength, mustBeListed);
  const length = (await append(true)) ?? ((await isNew(parts, ready)) ? await append(false) : undefined);
  if (length === undefined) return { kind: 'changed' };
  noteUsage?.(run.accountId, 'deliveries', length - logLength);
  return { ...ready, transformed, transformWith: undefined, logLength: length };
}

// The process that fanned it out may have died before it was listed.
async function isNew(parts: AttemptParts, { run, logLength }: ReadyDelivery): Promise<boolean> {
  return logLength === 0 && !(await isGone(parts, run));
}

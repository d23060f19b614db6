import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { Emit } from '../domain/signal';
import { AppError } from '../platform/app-error';

export interface PersistContext {
  readonly emit: Emit;
}

// The interval of tries while Redis refuses writes: the worker that has the response must be the first to
// record once Redis accepts writes again.
const EVERY_MS = 250;

/**
 * Repeat a write for a delivery until it succeeds: no other process would do it, and its job must not be repeated. Any other
 * failure than of Redis is thrown at once.
 *
 * @param abortSignal ends the wait: then the last failure is thrown.
 */
export async function persistFor<Result>(
  { emit }: PersistContext,
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  abortSignal: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
      if (abortSignal.aborted || isNotStorage(error)) throw error;
      await wait(EVERY_MS, undefined, { signal: abortSignal }).catch(() => {});
    }
  }
}

/** Whether waiting for Redis is useless, because it responds and would fail in the same way again. */
function isNotStorage(error: unknown): boolean {
  return !(error instanceof AppError && error.code === 'storage_unavailable');
}

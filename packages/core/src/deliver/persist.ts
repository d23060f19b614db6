import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { Emit } from '../domain/signal';
import { isUnavailable } from '../platform/redis-errors';

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
      // A Redis that responds would fail in the same way again.
      if (abortSignal.aborted || !isUnavailable(error)) throw error;
      await wait(EVERY_MS, undefined, { signal: abortSignal }).catch(() => {});
    }
  }
}

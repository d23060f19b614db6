import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { Emit } from '../domain/signal';

export interface PersistContext {
  readonly emit: Emit;
}

// The interval of tries while Redis refuses writes: the worker that has the response must be the first to
// record once Redis accepts writes again.
const EVERY_MS = 250;

export interface PersistOptions {
  /** Ends it: the last failure is thrown. */
  readonly abortSignal: AbortSignal;
  /** Whether it is no use to go on after such a failure; by default it always is. */
  readonly isFinal?: (error: unknown) => boolean;
  readonly everyMs?: number;
}

/** Complete work for a delivery that nothing else would do, and that its job must not repeat. */
export async function persistFor<Result>(
  { emit }: PersistContext,
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  { abortSignal, isFinal = () => false, everyMs = EVERY_MS }: PersistOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
      if (abortSignal.aborted || isFinal(error)) throw error;
      await wait(everyMs, undefined, { signal: abortSignal }).catch(() => {});
    }
  }
}

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
  /** Ends the wait: then the last failure is thrown. */
  readonly abortSignal: AbortSignal;
  /** Whether to give up after such a failure. Default: never. */
  readonly isFinal?: (error: unknown) => boolean;
  readonly everyMs?: number;
}

/** Repeat a write for a delivery until it succeeds: no other process would do it, and its job must not be repeated. */
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

import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery';
import type { Emit } from '../model/signal';

export interface PersistForOptions extends Pick<PersistOptions, 'signal' | 'isFinal'> {
  readonly emit: Emit;
}

// So often while Redis refuses it: whoever records first once it takes something again is to be who has the answer.
const EVERY_MS = 250;

/** Does for a delivery what nothing else would do, and what its job must not be run again for. */
export async function persistFor<Result>(
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  { emit, ...options }: PersistForOptions,
): Promise<Result> {
  const onFailure = (error: unknown) =>
    emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
  return await persist(action, { ...options, everyMs: EVERY_MS, onFailure });
}

export interface PersistOptions {
  readonly everyMs: number;
  /** Ends it: what went wrong last is thrown. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Whether it is no use to go on after such a failure; by default it always is. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Does something, and for as long as that fails again and again; gives what came of it. */
export async function persist<Result>(
  action: () => Promise<Result>,
  { everyMs, signal, onFailure, isFinal = () => false }: PersistOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      if (signal.aborted || isFinal(error)) throw error;
      await wait(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}

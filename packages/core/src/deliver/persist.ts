import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { Emit } from '../domain/signal';

export interface PersistContext {
  readonly emit: Emit;
}

// So often while Redis refuses it: the first worker that records once Redis takes something again is to be the one that
// has the response.
const EVERY_MS = 250;

/** Does for a delivery what nothing else would do, and what its job must not be run again for. */
export async function persistFor<Result>(
  { emit }: PersistContext,
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  options: Pick<PersistOptions, 'abortSignal' | 'isFinal'>,
): Promise<Result> {
  const onFailure = (error: unknown) =>
    emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
  return await persist(action, { ...options, everyMs: EVERY_MS, onFailure });
}

export interface PersistOptions {
  readonly everyMs: number;
  /** Ends it: the last failure is thrown. */
  readonly abortSignal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Whether it is no use to go on after such a failure; by default it always is. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Does something, and for as long as that fails again and again; gives what came of it. */
export async function persist<Result>(
  action: () => Promise<Result>,
  { everyMs, abortSignal, onFailure, isFinal = () => false }: PersistOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      if (abortSignal.aborted || isFinal(error)) throw error;
      await wait(everyMs, undefined, { signal: abortSignal }).catch(() => {});
    }
  }
}

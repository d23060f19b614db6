import { type PersistOptions, persist } from '../kernel/persist';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery-id';
import type { Emit } from '../model/signals';

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

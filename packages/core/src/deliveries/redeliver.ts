import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { BringForward } from './bring-forward';
import type { DeliveryWithAttempts, ReadDeliveries } from './read-deliveries';
import type { Resend } from './resend';

export interface RedeliverDeps {
  readonly deliveries: Pick<ReadDeliveries, 'read'>;
  readonly resend: Resend;
  readonly bringForward: BringForward;
}

/**
 * Sends a delivery once more, now, however it ended; one that is on its way is brought forward.
 *
 * @param requestId the same when the same request is worked on again.
 * @throws AppError `not_found`, also when its event or its endpoint is no longer there; `conflict` in the moment in which
 *   one of its attempts ends.
 */
export function createRedeliver({ deliveries, resend, bringForward }: RedeliverDeps) {
  return async function redeliver(
    accountId: AccountId,
    id: string,
    requestId: string,
  ): Promise<DeliveryWithAttempts> {
    const { endpointId, eventId, createdAt: acceptedAt } = await deliveries.read(accountId, id);
    const request = { endpointId, eventId, trigger: 'manual', requestId } as const;
    const resent = await resend({ ...request, accountId, acceptedAt });
    // Also when it says that it was resent: the same request may have broken off before it had brought it forward.
    const isEnding = resent === 'ending' || (await bringForward(request)) === 'ending';
    if (isEnding) {
      throw new AppError('conflict', 'An attempt of the delivery has just ended; ask again in a moment.');
    }
    return await deliveries.read(accountId, id);
  };
}

export type Redeliver = ReturnType<typeof createRedeliver>;

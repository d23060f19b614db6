import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { Delivery, ReadDeliveries } from './read-deliveries';
import type { Resend, Resent } from './resend';

export interface RedeliverDeps {
  readonly deliveries: Pick<ReadDeliveries, 'read'>;
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly resend: Resend;
}

const REFUSALS: Readonly<Record<Exclude<Resent, 'resent'>, string>> = {
  on_its_way: 'The delivery is already on its way: it is pending, or held at the gate of its webhook.',
  ending: 'The delivery has just come to its end; ask again in a moment.',
};

/**
 * Sends a delivery once more, now, however it ended.
 *
 * @param requestId the same when the same request is worked on again.
 * @throws AppError `not_found`, also when its event or its endpoint is no longer there; `conflict` while it is on its way;
 *   `payload_erased` when there is nothing to send any more.
 */
export function createRedeliver({ deliveries, eventStore, resend }: RedeliverDeps) {
  return async function redeliver(accountId: AccountId, id: string, requestId: string): Promise<Delivery> {
    const { endpointId, eventId, createdAt: acceptedAt } = await deliveries.read(accountId, id);
    const head = await eventStore.findHead(accountId, eventId);
    if (head?.erasedAt !== undefined) {
      throw new AppError(
        'payload_erased',
        "The event's payload was erased: there is nothing to send any more.",
      );
    }
    const resent = await resend({
      accountId,
      endpointId,
      eventId,
      acceptedAt,
      trigger: 'manual',
      requestId,
    });
    if (resent !== 'resent') throw new AppError('conflict', REFUSALS[resent]);
    return await deliveries.read(accountId, id);
  };
}

export type Redeliver = ReturnType<typeof createRedeliver>;

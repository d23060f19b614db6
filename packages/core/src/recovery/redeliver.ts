import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryWithAttempts } from '../history/delivery';
import type { ReadDeliveries } from '../history/read-deliveries';
import { AppError } from '../kernel/app-error';
import { type AccountId, eventNotFound } from '../model/event';
import type { EventStore } from '../record/redis-event-store';
import type { BringForward } from './bring-forward';
import type { Resend, ResendInput } from './resend';

export interface RedeliverDeps {
  readonly deliveries: Pick<ReadDeliveries, 'read'>;
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly resend: Resend;
  readonly bringForward: BringForward;
}

// A job ends within milliseconds of its attempt, if Redis has no trouble and the machine is not busy.
const TRIES = 20;
const EVERY_MS = 50;

/**
 * Sends a delivery once more, now, however it ended; one that is on its way is brought forward. In the moment in which an
 * attempt ends neither is possible: it waits for that up to a second.
 *
 * @param requestId the same when the same request is worked on again.
 * @throws AppError `not_found`, also when its event or its endpoint is no longer there; `conflict` when it waited in vain;
 *   `payload_erased` when there is nothing to send any more; `limit_reached` when it was sent too often.
 */
export function createRedeliver({ deliveries, eventStore, resend, bringForward }: RedeliverDeps) {
  return async function redeliver(
    accountId: AccountId,
    id: string,
    requestId: string,
  ): Promise<DeliveryWithAttempts> {
    const { endpointId, eventId, createdAt: acceptedAt } = await deliveries.read(accountId, id);
    const head = await eventStore.findHead(accountId, eventId);
    if (!head) throw eventNotFound();
    if (head.erasedAt !== undefined) {
      throw new AppError(
        'payload_erased',
        "The event's payload was erased: there is nothing to send any more.",
      );
    }
    const input = { accountId, endpointId, eventId, acceptedAt, trigger: 'manual', requestId } as const;
    for (let tries = 1; (await sendNow(input)) === 'ending'; tries += 1) {
      if (tries === TRIES) {
        throw new AppError('conflict', 'An attempt of the delivery has just ended; ask again in a moment.');
      }
      await wait(EVERY_MS);
    }
    return await deliveries.read(accountId, id);
  };

  // Brought forward also when it says that it was resent: the same request may have broken off before it came to that.
  async function sendNow(input: ResendInput): Promise<'soon' | 'ending'> {
    const resent = await resend(input);
    const sent = resent === 'ending' || resent === 'full' ? resent : await bringForward(input);
    if (sent === 'full') {
      throw new AppError(
        'limit_reached',
        'The delivery was sent so often that the record of it is full (1 MiB): publish a new event.',
      );
    }
    return sent;
  }
}

export type Redeliver = ReturnType<typeof createRedeliver>;

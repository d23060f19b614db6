import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { isUnreadableSecret } from '../secrets/seal';
import type { Emit } from '../signals/signals';
import type { Wait } from './admit';
import type { OpenGate } from './open-gate';
import type { JobSide } from './parked';
import type { ParkedStore } from './redis-parked-store';

/** Puts off looking at an endpoint's gate until a time; asking twice for about the same time is harmless. */
export interface WakeQueue {
  wake(accountId: AccountId, endpointId: EndpointId, at: number): Promise<void>;
}

/** The endpoints at whose gates, as far as this process knows, deliveries wait for a place. */
export type WaitingHere = Set<EndpointId>;

export interface HoldDeps {
  readonly parkedStore: Pick<ParkedStore, 'park' | 'dropExpired'>;
  readonly wakeQueue: WakeQueue;
  readonly waitingHere: WaitingHere;
  readonly openGate: OpenGate;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface HoldInput {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  /** The side of the job that its release is to use; not that of a job which holds it now. */
  readonly side: JobSide;
}

/**
 * Those that wait for a place follow as others come to their end. So much later their gate is looked at in any case: the
 * worker that knows of them may have died. Milliseconds.
 */
export const SAFETY_WAKE_MS = 10_000;

/** Parks a delivery at its endpoint's gate; its job may then end. Waiting uses no attempt. */
export function createHold({ parkedStore, wakeQueue, waitingHere, openGate, clock, emit }: HoldDeps) {
  return async function hold(
    { accountId, endpointId, eventId, acceptedAt, side }: HoldInput,
    { reason, wakeAt }: Omit<Wait, 'kind'>,
  ): Promise<void> {
    const old = await parkedStore.park(endpointId, { eventId, side }, acceptedAt);
    if (old.length > 0) await parkedStore.dropExpired(accountId, endpointId, old);
    if (reason === 'busy') waitingHere.add(endpointId);
    // What it waits for may have come before it was parked, unseen: it would wait for ever.
    if (wakeAt === undefined) await lookAtGate(accountId, endpointId);
    else await wakeQueue.wake(accountId, endpointId, wakeAt);
    emit({ name: 'delivery.held', endpointId, eventId, reason });
  };

  // Its gate's own job can wait until an endpoint's secrets can be read; a fan-out has others to serve meanwhile.
  async function lookAtGate(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    try {
      await openGate(accountId, endpointId, 1);
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      await wakeQueue.wake(accountId, endpointId, clock());
    }
  }
}

export type Hold = ReturnType<typeof createHold>;

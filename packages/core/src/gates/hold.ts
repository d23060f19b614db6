import type { EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AccountId, EventId } from '../events/event';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import type { Admission } from './admit';
import type { JobSide } from './parked';
import type { ParkedStore } from './redis-parked-store';

/** Puts off looking at an endpoint's gate until a time; asking twice for about the same time is harmless. */
export interface WakeQueue {
  wake(accountId: AccountId, endpointId: EndpointId, at: number): Promise<void>;
}

/** The endpoints at whose gates, as far as this process knows, deliveries wait for a place. */
export type WaitingHere = Set<EndpointId>;

export interface HoldDeps {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly parkedStore: Pick<ParkedStore, 'park'>;
  readonly wakeQueue: WakeQueue;
  readonly waitingHere: WaitingHere;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface HoldInput {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  /** The side of the job that holds the delivery now. */
  readonly side: JobSide;
}

/** Parks a delivery at its endpoint's gate; its job may then end. Waiting uses no attempt. */
export function createHold({ endpointStore, parkedStore, wakeQueue, waitingHere, clock, emit }: HoldDeps) {
  return async function hold(
    input: HoldInput,
    { reason, wakeAt }: Extract<Admission, { kind: 'wait' }>,
  ): Promise<void> {
    const { accountId, endpointId, eventId, acceptedAt, side } = input;
    await parkedStore.park(endpointId, { eventId, side: side === 'first' ? 'second' : 'first' }, acceptedAt);
    if (reason === 'busy') waitingHere.add(endpointId);
    const lookAt = reason === 'disabled' ? await changedMeanwhile(input) : wakeAt;
    if (lookAt !== undefined) await wakeQueue.wake(accountId, endpointId, lookAt);
    emit({ name: 'delivery.held', endpointId, eventId, reason });
  };

  // Somebody may have enabled or deleted the endpoint before this one was parked: it would wait for ever.
  async function changedMeanwhile({ accountId, endpointId }: HoldInput): Promise<number | undefined> {
    const endpoint = await endpointStore.find(accountId, endpointId);
    return endpoint?.status === 'disabled' ? undefined : clock();
  }
}

export type Hold = ReturnType<typeof createHold>;

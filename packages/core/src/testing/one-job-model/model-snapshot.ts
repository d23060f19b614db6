import { deliveryIdOf } from '../../domain/delivery';
import { readLog } from '../../domain/delivery-log';
import type { Endpoint } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { queueKeysOf } from '../../domain/keys';
import type { ModelLane } from './model-lane';
import { see } from './model-snapshot.script';

const queueKeys = queueKeysOf('bull');

/** Where a job may be. */
const places = ['wait', 'prioritized', 'active', 'delayed', 'failed', 'completed', 'paused'] as const;
export type JobPlace = (typeof places)[number];

/** Redis' data of a delivery, all read at one moment. */
export interface SeenDelivery {
  readonly hasJob: boolean;
  readonly places: readonly JobPlace[];
  readonly lock: string;
  readonly isHeld: boolean;
  /** Whether another attempt will follow, by what Redis has of it, or else the history. */
  readonly isOpen: boolean;
  /** Whether Redis has nothing of it, and the history has. */
  readonly hasMoved: boolean;
  /** Whether a fan-out that is repeated makes nothing of its event. */
  readonly wasSent: boolean;
  readonly nextAttemptAt: number | undefined;
}

export interface Snapshot {
  readonly deliveries: readonly SeenDelivery[];
  readonly heldCount: number;
  readonly wakeUpDueAt: number | undefined;
}

/** Read everything that the invariants need. */
export async function takeSnapshot(
  { redis, jobKeys, history }: ModelLane,
  { accountId, id: endpointId }: Endpoint,
  eventIds: readonly EventId[],
): Promise<Snapshot> {
  const seen = await see({
    account: accountId,
    endpoint: endpointId,
    held: queueKeys.held(endpointId),
    wakeUps: queueKeys.wakeUps,
    address: `${accountId}/${endpointId}`,
    base: jobKeys.base,
    deliveries: eventIds.map((event) => ({ job: deliveryIdOf({ eventId: event, endpointId }), event })),
  })(redis);
  return {
    heldCount: seen.heldCount,
    wakeUpDueAt: seen.wakeUpDueAt,
    deliveries: seen.deliveries.map((delivery, i) => {
      const eventId = eventIds[i];
      const moved = eventId && history.logOf(accountId, { eventId, endpointId });
      const { log = '', lock = '', hasJob, isHeld } = delivery;
      const hasMoved = moved !== undefined && log === '' && !delivery.isListed;
      const { isOpen, nextAttemptAt } = readLog(hasMoved ? moved : log);
      const inPlaces = places.filter((place) => delivery.places.includes(place));
      const isTwice = delivery.places.length !== new Set(delivery.places).size;
      return {
        hasJob,
        places: isTwice ? [...inPlaces, ...inPlaces] : inPlaces,
        lock,
        isHeld,
        isOpen,
        hasMoved,
        wasSent: delivery.isEventListed || hasMoved,
        nextAttemptAt,
      };
    }),
  };
}

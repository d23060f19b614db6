import { z } from 'zod';
import { deliveryIdOf } from '../../domain/delivery';
import { readLog } from '../../domain/delivery-log';
import type { Endpoint } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys, queueKeysOf } from '../../domain/keys';
import { defineScript } from '../../platform/redis-script';
import type { ModelLane } from './model-lane';

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
  readonly isSettled: boolean;
  readonly nextAttemptAt: number | undefined;
}

export interface Snapshot {
  readonly deliveries: readonly SeenDelivery[];
  readonly heldCount: number;
  readonly wakeUpDueAt: number | undefined;
}

const SEE = defineScript(`
  local base, endpoint = ARGV[1], ARGV[2]
  local seen = {redis.call('ZCARD', KEYS[1]), redis.call('ZSCORE', KEYS[2], endpoint) or ''}
  for i = 3, #ARGV, 3 do
    local job, event, log = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local places = {}
    for _, list in ipairs({'wait', 'active', 'paused'}) do
      for _ in ipairs(redis.call('LPOS', base .. list, job, 'COUNT', 0)) do table.insert(places, list) end
    end
    for _, set in ipairs({'prioritized', 'delayed', 'failed', 'completed'}) do
      if redis.call('ZSCORE', base .. set, job) then table.insert(places, set) end
    end
    table.insert(seen, {
      redis.call('EXISTS', base .. job), table.concat(places, ' '), redis.call('GET', base .. job .. ':lock') or '',
      redis.call('ZSCORE', KEYS[1], event) and 1 or 0, redis.call('GET', log) or '',
      redis.call('ZSCORE', KEYS[3], event) and 1 or 0, redis.call('ZSCORE', KEYS[4], event) and 1 or 0})
  end
  return seen`);

const deliverySchema = z.tuple([
  z.number(),
  z.string(),
  z.string(),
  z.number(),
  z.string(),
  z.number(),
  z.number(),
]);
const seenSchema = z.tuple([z.number(), z.string()]).rest(deliverySchema);

/** Read everything that the invariants need. */
export async function takeSnapshot(
  { redis, jobKeys, history }: ModelLane,
  { accountId, id: endpointId }: Endpoint,
  eventIds: readonly EventId[],
): Promise<Snapshot> {
  const args = eventIds.flatMap((eventId) => [
    deliveryIdOf({ eventId, endpointId }),
    eventId,
    keys.delivery(endpointId, eventId),
  ]);
  const address = `${accountId}/${endpointId}`;
  const reply = await SEE(
    redis,
    [queueKeys.held(endpointId), queueKeys.wakeUps, keys.deliveries(endpointId), keys.events(accountId)],
    [jobKeys.base, address, ...args],
  );
  const [heldCount, wakeUpDueAt, ...deliveries] = seenSchema.parse(reply);
  return {
    heldCount,
    wakeUpDueAt: wakeUpDueAt === '' ? undefined : Number(wakeUpDueAt),
    deliveries: deliveries.map(([hasJob, where, lock, isHeld, log, isListed, isEventListed], i) => {
      const eventId = eventIds[i];
      const moved = eventId && history.logOf(accountId, { eventId, endpointId });
      const hasMoved = moved !== undefined && log === '' && isListed === 0;
      const { isOpen, nextAttemptAt } = readLog(hasMoved ? moved : log);
      const inPlaces = places.filter((place) => where.split(' ').includes(place));
      const isTwice = where.split(' ').length !== new Set(where.split(' ')).size;
      return {
        hasJob: hasJob === 1,
        places: isTwice ? [...inPlaces, ...inPlaces] : inPlaces,
        lock,
        isHeld: isHeld === 1,
        isOpen,
        hasMoved,
        isSettled: isEventListed === 1 || hasMoved,
        nextAttemptAt,
      };
    }),
  };
}

import type { EndpointAddress, HeldDeliveries } from '../admission/held-deliveries';
import type { RedisClient } from '../kernel/redis-connect';
import type { EndpointId } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { QueueShard, QueueShards } from '../model/queue-layout';
import { type BullmqHeldDeliveries, createBullmqHeldDeliveries } from './bullmq-held-deliveries';
import { PerShard } from './per-shard';

/**
 * What is held, beside the jobs in their shards. What is still elsewhere while the queues are being split anew is counted and
 * listed; it is released by being brought home.
 *
 * @param served the shards whose looks this process makes.
 */
export function createShardedHeldDeliveries(
  redis: RedisClient,
  shards: QueueShards,
  served: () => readonly QueueShard[] = () => shards.all(),
) {
  const stores = new PerShard(redis, createBullmqHeldDeliveries);
  const atHome = ({ endpointId }: EndpointAddress) => stores.in(shards.homeOf(endpointId));
  const anywhere = (endpointId: EndpointId) => stores.inEach(shards.homesOf(endpointId));

  return {
    enter: (address, delivery, lookAt, reason) => atHome(address).enter(address, delivery, lookAt, reason),
    release: (address, request) => atHome(address).release(address, request),
    askForLook: (address, at) => atHome(address).askForLook(address, at),
    lookDueAt: (address) => atHome(address).lookDueAt(address),

    async claimDueLooks(now, most) {
      const due = await Promise.all(stores.inEach(served()).map((store) => store.claimDueLooks(now, most)));
      return due.flat();
    },

    async *pagesOf(endpointId) {
      for (const store of anywhere(endpointId)) yield* store.pagesOf(endpointId);
    },

    async count(endpointId: EndpointId): Promise<number> {
      const counts = await Promise.all(anywhere(endpointId).map((store) => store.count(endpointId)));
      return counts.reduce((sum, count) => sum + count, 0);
    },

    async isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      const answers = anywhere(endpointId).map((store) => store.isHeld(endpointId, eventId));
      return (await Promise.all(answers)).includes(true);
    },

    /** Which of these are held. */
    async findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
      const found = anywhere(endpointId).map((store) => store.findHeld(endpointId, eventIds));
      return new Set((await Promise.all(found)).flatMap((some) => [...some]));
    },
  } satisfies HeldDeliveries & Partial<BullmqHeldDeliveries>;
}

export type ShardedHeldDeliveries = ReturnType<typeof createShardedHeldDeliveries>;

import type { EndpointAddress, HeldDeliveries } from '../admission/held-deliveries';
import type { RedisClient } from '../kernel/redis-connect';
import type { Mark, TimeRange } from '../kernel/redis-timeline';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { QueueShard, QueueShards } from '../model/queue-layout';
import { type BullmqHeldDeliveries, createBullmqHeldDeliveries } from './bullmq-held-deliveries';
import { byShard, PerShard } from './per-shard';

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
    enter: (address, ...rest) => atHome(address).enter(address, ...rest),
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

    /** Those of an account's endpoints that hold deliveries, as they are counted. */
    async findHolding(
      accountId: AccountId,
      endpointIds: readonly EndpointId[],
    ): Promise<readonly EndpointId[]> {
      const addresses = endpointIds.flatMap((id) => shards.homesOf(id).map((shard) => ({ id, shard })));
      const found = byShard(addresses, ({ shard }) => shard).map(([shard, some]) =>
        stores.in(shard).findHolding(
          accountId,
          some.map(({ id }) => id),
        ),
      );
      return [...new Set((await Promise.all(found)).flat())];
    },

    /** An endpoint's by the acceptance of their events, the newest first. */
    async listNewest(
      endpointId: EndpointId,
      range: TimeRange,
      limit: number,
      after: Mark | undefined,
    ): Promise<readonly Mark[]> {
      const parts = anywhere(endpointId).map((store) => store.listNewest(endpointId, range, limit, after));
      const marks = (await Promise.all(parts)).flat();
      return parts.length === 1 ? marks : firstOf(marks, limit);
    },
  } satisfies HeldDeliveries & Partial<BullmqHeldDeliveries>;
}

/** While an endpoint has deliveries in two shards, one may be in both for a moment. */
function firstOf(marks: readonly Mark[], limit: number): readonly Mark[] {
  const byId = new Map(marks.map((mark) => [mark.id, mark]));
  return [...byId.values()].toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).slice(0, limit);
}

export type ShardedHeldDeliveries = ReturnType<typeof createShardedHeldDeliveries>;

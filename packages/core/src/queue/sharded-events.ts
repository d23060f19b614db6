import type { EventHorizon } from '../admission/look-at-endpoint';
import type { EventQueue } from '../intake/accept-events';
import type { RedisClient } from '../kernel/redis-connect';
import type { QueuedEvents } from '../manage/erase-payload';
import type { AcceptedEvent, AccountId, EventId } from '../model/event';
import type { QueueShard, QueueShards } from '../model/queue-layout';
import type { EventHead } from '../record/redis-event-store';
import { BullmqEventHorizon } from './bullmq-event-horizon';
import { BullmqEventQueue } from './bullmq-event-queue';
import { BullmqQueuedEvents } from './bullmq-queued-events';
import { byShard, PerShard } from './per-shard';

/** Where events of an account may wait: in its shards, and where producers push, who know of no shards. */
function shardsOfAccount(shards: QueueShards, accountId: AccountId): readonly QueueShard[] {
  const homes = shards.homesOf(accountId);
  return homes.some(({ prefix }) => prefix === shards.first.prefix) ? homes : [...homes, shards.first];
}

/** The end of the events queue where events are accepted: an account's go into one shard. */
export class ShardedEventQueue implements EventQueue {
  readonly #queues: PerShard<BullmqEventQueue>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#queues = new PerShard(redis, (connection) => new BullmqEventQueue(connection));
  }

  async add(event: AcceptedEvent): Promise<void> {
    await this.#queues.in(this.shards.homeOf(event.accountId)).add(event);
  }

  async addAll(events: readonly AcceptedEvent[]): Promise<void> {
    const groups = byShard(events, ({ accountId }) => this.shards.homeOf(accountId));
    await Promise.all(groups.map(([shard, some]) => this.#queues.in(shard).addAll(some)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.made().map((queue) => queue.close()));
  }
}

/** What of the events queue is not fanned out yet, in whichever shard it is. */
export function createShardedEventHorizon(redis: RedisClient, shards: QueueShards): EventHorizon {
  const horizons = new PerShard(redis, (connection) => new BullmqEventHorizon(connection));
  return {
    async hasOlder(event) {
      const asked = horizons.inEach(shardsOfAccount(shards, event.accountId));
      return (await Promise.all(asked.map((horizon) => horizon.hasOlder(event)))).includes(true);
    },
  };
}

/** Looks into the events queue for events by their ids, in whichever shard they are. */
export function createShardedQueuedEvents(redis: RedisClient, shards: QueueShards): QueuedEvents {
  const queues = new PerShard(redis, (connection) => new BullmqQueuedEvents(connection));
  const askedFor = (accountId: AccountId) => queues.inEach(shardsOfAccount(shards, accountId));
  return {
    async find(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
      const heads = await Promise.all(askedFor(accountId).map((queue) => queue.find(accountId, id)));
      return heads.find((head) => head !== undefined);
    },

    async empty(accountId: AccountId, id: EventId, head: EventHead): Promise<void> {
      await Promise.all(askedFor(accountId).map((queue) => queue.empty(accountId, id, head)));
    },
  };
}

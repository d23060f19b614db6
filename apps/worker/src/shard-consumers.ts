import {
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  type QueueShard,
  type WorkedQueue,
} from '@hookferry/core/domain/queues';
import { DueEvents, type ScheduledQueue } from '@hookferry/core/queue/bullmq-scheduled-queue';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { type DeliveryWorkerParts, openDeliveryWorker } from './consumers/bullmq-deliver';
import { type EventWorkerParts, openEventWorker } from './consumers/bullmq-fan-out';

export interface ShardParts extends EventWorkerParts, DeliveryWorkerParts {
  readonly scheduledQueue: ScheduledQueue;
}

export interface WatchedQueue {
  readonly queue: WorkedQueue;
  readonly shard: QueueShard;
  /** Counts up whenever this worker begins or ends a job of the queue in this shard. */
  beginsAndEnds(): number;
}

/** Takes the events and deliveries of one shard. */
class ShardConsumers {
  /** The queues that it must take jobs from whenever some wait: their jobs are short. */
  readonly watched: readonly WatchedQueue[];
  readonly #consumers: readonly { start(): void; stop(): Promise<void> }[];

  constructor(
    parts: ShardParts,
    readonly shard: QueueShard,
  ) {
    const events = openEventWorker(parts, shard);
    const deliveries = openDeliveryWorker(parts, shard);
    this.#consumers = [new DueEvents({ ...parts, prefix: shard.prefix }), events, deliveries];
    this.watched = [
      { queue: EVENTS_QUEUE, shard, beginsAndEnds: () => events.beginsAndEnds },
      { queue: DELIVERIES_QUEUE, shard, beginsAndEnds: () => deliveries.beginsAndEnds },
    ];
  }

  start(): void {
    for (const consumer of this.#consumers) consumer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
  }
}

/**
 * Takes jobs from the shards in force, or from those of them that this worker is configured to serve. Every
 * worker also serves the shards that are being given up.
 */
export class ServedShards {
  readonly #consumers = new Map<string, ShardConsumers>();
  readonly #stopping = new Set<Promise<void>>();
  #shards: ShardsInForce | undefined;
  #mayServe = true;
  #isStopped = false;

  /** @param only the numbers of the shards to serve; absent: all. */
  constructor(
    private readonly parts: ShardParts,
    private readonly only: readonly number[] | undefined,
  ) {}

  list(): readonly QueueShard[] {
    return [...this.#consumers.values()].map(({ shard }) => shard);
  }

  /** The same objects for as long as it serves a shard. */
  watched(): readonly WatchedQueue[] {
    return [...this.#consumers.values()].flatMap(({ watched }) => watched);
  }

  /** Start new shards, and stop those that are gone. @returns all shards that it takes jobs from now. */
  serve(shards: ShardsInForce): readonly QueueShard[] {
    this.#shards = shards;
    if (this.#isStopped) return [];
    if (!this.#mayServe) return this.#serveOnly(new Map());
    const inForce = shards.inForce().filter((_shard, i) => this.only?.includes(i) ?? true);
    const wanted = new Map([...inForce, ...shards.former()].map((shard) => [shard.prefix, shard]));
    return this.#serveOnly(wanted);
  }

  /** Take no more jobs, and let running ones finish; or go on. Nobody else learns of it: others take the jobs. */
  setMayServe(mayServe: boolean): void {
    this.#mayServe = mayServe;
    if (this.#shards) this.serve(this.#shards);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const consumers of this.#consumers.values()) this.#stop(consumers);
    await Promise.all(this.#stopping);
  }

  #serveOnly(wanted: ReadonlyMap<string, QueueShard>): readonly QueueShard[] {
    for (const consumers of this.#consumers.values()) {
      if (!wanted.has(consumers.shard.prefix)) this.#stop(consumers);
    }
    for (const [prefix, shard] of wanted) {
      if (!this.#consumers.has(prefix)) this.#begin(shard);
    }
    return this.list();
  }

  #begin(shard: QueueShard): void {
    const consumers = new ShardConsumers(this.parts, shard);
    this.#consumers.set(shard.prefix, consumers);
    consumers.start();
  }

  #stop(consumers: ShardConsumers): void {
    this.#consumers.delete(consumers.shard.prefix);
    const stopping = consumers.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}

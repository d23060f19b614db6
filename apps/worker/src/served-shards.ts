import type { QueueShard } from '@hookferry/core/domain/queues';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import type { WatchedQueue } from './stall-watch';

/** What takes the jobs of one shard, or brings some there to be taken. */
export interface ShardPart {
  /** Queues that it is expected to take something from whenever something waits there. */
  readonly watched: readonly WatchedQueue[];
  start(): void;
  stop(): Promise<void>;
}

/**
 * Takes jobs from the shards in force, or from those of them that this worker is to serve, and from those that are being
 * given up, which every worker serves.
 */
export class ServedShards {
  readonly #parts = new Map<string, { readonly shard: QueueShard; readonly part: ShardPart }>();
  readonly #stopping = new Set<Promise<void>>();
  #isStopped = false;

  /** @param only the numbers of those that it is to serve; all unless given. */
  constructor(
    private readonly open: (shard: QueueShard) => ShardPart,
    private readonly only: readonly number[] | undefined,
  ) {}

  readonly list = (): readonly QueueShard[] => [...this.#parts.values()].map(({ shard }) => shard);

  /** The same objects for as long as it serves a shard. */
  readonly watched = (): readonly WatchedQueue[] =>
    [...this.#parts.values()].flatMap(({ part }) => part.watched);

  /** Begins with those that are new, and stops with those that are gone. @returns all that it takes jobs from now. */
  readonly serve = (shards: ShardsInForce): readonly QueueShard[] => {
    if (this.#isStopped) return [];
    const inForce = shards.inForce().filter((_shard, i) => this.only?.includes(i) ?? true);
    const wanted = new Map([...inForce, ...shards.former()].map((shard) => [shard.prefix, shard]));
    for (const [prefix, { part }] of this.#parts) {
      if (!wanted.has(prefix)) this.#stop(prefix, part);
    }
    for (const [prefix, shard] of wanted) {
      if (!this.#parts.has(prefix)) this.#begin(shard);
    }
    return this.list();
  };

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const [prefix, { part }] of this.#parts) this.#stop(prefix, part);
    await Promise.all(this.#stopping);
  }

  #begin(shard: QueueShard): void {
    const part = this.open(shard);
    this.#parts.set(shard.prefix, { shard, part });
    part.start();
  }

  #stop(prefix: string, part: ShardPart): void {
    this.#parts.delete(prefix);
    const stopping = part.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}

import type { RedisClient } from '../kernel/redis-connect';
import type { QueueShard } from '../model/queue-layout';
import type { QueueConnection } from './bullmq-open-queue';

/** The same store once for each shard, made when it is first asked for. */
export class PerShard<Store> {
  readonly #stores = new Map<string, Store>();

  constructor(
    private readonly redis: RedisClient,
    private readonly make: (connection: QueueConnection) => Store,
  ) {}

  in({ prefix }: QueueShard): Store {
    const known = this.#stores.get(prefix);
    if (known !== undefined) return known;
    const made = this.make({ redis: this.redis, prefix });
    this.#stores.set(prefix, made);
    return made;
  }

  inEach(shards: readonly QueueShard[]): readonly Store[] {
    return shards.map((shard) => this.in(shard));
  }

  /** All that were asked for. */
  made(): readonly Store[] {
    return [...this.#stores.values()];
  }
}

/** What belongs together, under the shard that each belongs to. */
export function byShard<Item>(
  items: readonly Item[],
  shardOf: (item: Item) => QueueShard,
): readonly (readonly [QueueShard, readonly Item[]])[] {
  const groups = new Map<string, [QueueShard, Item[]]>();
  for (const item of items) {
    const shard = shardOf(item);
    const group = groups.get(shard.prefix);
    if (group) group[1].push(item);
    else groups.set(shard.prefix, [shard, [item]]);
  }
  return [...groups.values()];
}

import type { QueueShard } from '../domain/queues';

/** One part for each shard, made when it is first needed. */
export class PerShard<Part> {
  readonly #parts = new Map<string, Part>();

  constructor(private readonly make: (prefix: string) => Part) {}

  in({ prefix }: QueueShard): Part {
    const known = this.#parts.get(prefix);
    if (known !== undefined) return known;
    const made = this.make(prefix);
    this.#parts.set(prefix, made);
    return made;
  }

  inEach(shards: readonly QueueShard[]): readonly Part[] {
    return shards.map((shard) => this.in(shard));
  }
}

/** Group items by the shard that each belongs to. */
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

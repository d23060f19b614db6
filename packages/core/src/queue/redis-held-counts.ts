import { z } from 'zod';
import { byHoldReason, type HoldReason, holdReasons } from '../domain/delivery';
import { decodeAddress, type EndpointAddress, encodeAddress } from '../domain/endpoint';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { recountHeld } from './bullmq-held-deliveries.script';
import { createJobKeys } from './bullmq-layout';

// A wrong count is rare.
const CHECKED_AT_ONCE = 5;

const addressesSchema = z.array(z.string().transform(decodeAddress));
const countsSchema = z.partialRecord(z.enum(holdReasons), z.coerce.number());

/** The numbers of held deliveries over all shards of the queues. */
export class HeldCounts {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all' | 'homeShardsOf'>,
  ) {}

  /** The numbers of all endpoints together, by reason. Each call recounts some endpoints. */
  async read(): Promise<Readonly<Record<HoldReason, number>>> {
    const counts = await this.readByShard();
    return byHoldReason((reason) => counts.reduce((sum, some) => sum + (some[reason] ?? 0), 0));
  }

  /** In the order of the shards; reasons for which none is held are left out. */
  async readByShard(): Promise<readonly Readonly<Partial<Record<HoldReason, number>>>[]> {
    return await Promise.all(this.shards.all().map((shard) => this.#readIn(shard)));
  }

  /** Call it after entries of an endpoint were removed without a release. */
  async recount(address: EndpointAddress): Promise<void> {
    const shards = this.shards.homeShardsOf(address.endpointId);
    await Promise.all(shards.map((shard) => this.#recountIn(shard, address)));
  }

  async #readIn(shard: QueueShard): Promise<z.infer<typeof countsSchema>> {
    const { heldCounts, countedAsHeld, behindHeads } = queueKeysOf(shard.prefix);
    const some = addressesSchema.parse(await this.redis.hrandfield(countedAsHeld, CHECKED_AT_ONCE));
    await Promise.all(some.map((address) => this.#recountIn(shard, address)));
    const [counts, behind] = await Promise.all([this.redis.hgetall(heldCounts), this.redis.get(behindHeads)]);
    const { ordering = 0, ...others } = countsSchema.parse(counts);
    const inOrder = ordering + Number(behind ?? 0);
    return inOrder === 0 ? others : { ...others, ordering: inOrder };
  }

  async #recountIn({ prefix }: QueueShard, address: EndpointAddress): Promise<void> {
    const { base } = createJobKeys(prefix, DELIVERIES_QUEUE);
    await recountHeld({ base, address: encodeAddress(address) })(this.redis);
  }
}

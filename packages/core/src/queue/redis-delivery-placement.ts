import type { DeliveryParts, DeliveryRun, LanePlace } from '../domain/delivery';
import type { EndpointId, LaneName } from '../domain/endpoint';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import type { DeliveryQueue } from './bullmq-delivery-queue';
import { claimDelivery, releaseDelivery } from './redis-delivery-placement.script';
import type { ShardsInForce } from './shards-in-force';

// Longer than an attempt takes. It expires only when a process ends in the middle of an attempt, and then
// matters only for a job in another shard.
const CLAIM_MS = 120_000;

/**
 * Whether a delivery's job may run where it is. While the queues are being split again a delivery may have
 * two jobs, in two shards, and workers may disagree about which of them counts. The job outside the home
 * shard moves there, and a worker that runs either keeps the other waiting. As long as all processes agree,
 * which is nearly always, this costs no command.
 */
export class DeliveryPlacement {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<
      ShardsInForce,
      'all' | 'homeShardOf' | 'homeShardsOf' | 'formerHomeShardsOf' | 'isStable'
    >,
    private readonly deliveryQueue: Pick<DeliveryQueue, 'isRunningIn' | 'hasOlderIn'>,
  ) {}

  /** Whether no delivery can have a job in another shard. */
  get isStable(): boolean {
    return this.shards.isStable;
  }

  /** Whether all queues are in one shard. */
  get isOneShard(): boolean {
    return this.shards.isStable && this.shards.all().length === 1;
  }

  isInHomeShard({ endpointId }: Pick<DeliveryRun, 'endpointId'>, shard: QueueShard): boolean {
    return this.shards.homeShardOf(endpointId).prefix === shard.prefix;
  }

  /**
   * Whether an older delivery of a lane is in another shard. For a few seconds processes do not agree which one its home shard is, and
   * put deliveries into both.
   */
  async hasOlderElsewhere(endpointId: EndpointId, lane: LaneName, entry: LanePlace): Promise<boolean> {
    const home = this.shards.homeShardOf(endpointId);
    const others = this.shards.homeShardsOf(endpointId).filter(({ prefix }) => prefix !== home.prefix);
    return await this.deliveryQueue.hasOlderIn(others, lane, entry);
  }

  /** Make an attempt, unless another shard is working on the delivery right now. */
  async work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (this.shards.isStable) return await attempt();
    if (!(await this.#claim(run, shard))) return 'elsewhere';
    try {
      // Work that began before the process knew of another layout holds no claim.
      const former = this.shards.formerHomeShardsOf(run.endpointId);
      if (await this.deliveryQueue.isRunningIn(former, run)) return 'elsewhere';
      return await attempt();
    } finally {
      await this.#release(run, shard);
    }
  }

  async #claim({ endpointId: endpoint, eventId: event }: DeliveryParts, { prefix: shard }: QueueShard) {
    return await claimDelivery({ endpoint, event, shard, claimMs: CLAIM_MS })(this.redis);
  }

  async #release({ endpointId: endpoint, eventId: event }: DeliveryParts, { prefix: shard }: QueueShard) {
    await releaseDelivery({ endpoint, event, shard })(this.redis);
  }
}

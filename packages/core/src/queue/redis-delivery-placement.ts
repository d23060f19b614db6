import type { DeliveryRun, LanePlace, LaneRun } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import type { DeliveryQueue } from './bullmq-delivery-queue';
import type { OwnedLane } from './bullmq-running-lanes';
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
    private readonly shards: Pick<ShardsInForce, 'all' | 'homeShardOf' | 'homeShardsOf' | 'isStable'>,
    private readonly deliveryQueue: Pick<DeliveryQueue, 'isRunningIn' | 'hasOlderIn' | 'joinLaneIn'>,
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
   * Whether an older delivery of a lane in this shard is in another one. For a few seconds processes do not agree which one its home
   * shard is, and put deliveries into both.
   */
  async hasOlderElsewhere(
    { endpointId, lane }: Pick<OwnedLane, 'endpointId' | 'lane'>,
    shard: QueueShard,
    entry: LanePlace,
  ): Promise<boolean> {
    return await this.deliveryQueue.hasOlderIn(this.#othersThan(shard, endpointId), lane, entry);
  }

  /**
   * Make the newest entry of a lane that goes in place of older ones an entry of that lane in other shards too, if they have it. Its turn comes
   * when all are in one: until then nobody knows which is the newest, and what was sent last.
   *
   * @returns whether it has to wait for that.
   */
  async joinElsewhere(run: DeliveryRun, shard: QueueShard, lane: LaneRun): Promise<boolean> {
    return await this.deliveryQueue.joinLaneIn(this.#othersThan(shard, run.endpointId), run, lane);
  }

  /**
   * Make an attempt, unless a worker has the delivery in another shard right now. Of two that begin in two shards, each has its own lock
   * before it asks for the other's: so they never both go on. The claim is for a process that has stood still, and knows no other shard.
   */
  async work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (this.shards.isStable) return await attempt();
    return await this.#whileClaimed(run, shard, async () => {
      const others = this.#othersThan(shard, run.endpointId);
      return (await this.deliveryQueue.isRunningIn(others, run)) ? 'elsewhere' : await attempt();
    });
  }

  #othersThan({ prefix }: QueueShard, endpointId: EndpointId): readonly QueueShard[] {
    return this.shards.homeShardsOf(endpointId).filter((other) => other.prefix !== prefix);
  }

  async #whileClaimed<Result>(
    { endpointId: endpoint, eventId: event }: DeliveryRun,
    { prefix: shard }: QueueShard,
    act: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    const claim = { endpoint, event, shard };
    if (!(await claimDelivery({ ...claim, claimMs: CLAIM_MS })(this.redis))) return 'elsewhere';
    try {
      return await act();
    } finally {
      await releaseDelivery(claim)(this.redis);
    }
  }
}

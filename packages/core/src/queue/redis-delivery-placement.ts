import type { DeliveryParts, DeliveryRun, LanePlace } from '../domain/delivery';
import type { EndpointId, LaneName } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import type { DeliveryQueue } from './bullmq-delivery-queue';
import { claimDelivery, releaseDelivery } from './redis-delivery-placement.script';
import type { ShardsInForce } from './shards-in-force';

// Longer than an attempt takes. It expires only when a process ends in the middle of an attempt, and then
// matters only for a job in another shard.
const CLAIM_MS = 120_000;
// In place of an event: no event has this id.
const MOVING = '/' as EventId;

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
    return await this.#whileClaimed(run, shard, async () => {
      // Work that began before the process knew of another layout holds no claim.
      const former = this.shards.formerHomeShardsOf(run.endpointId);
      return (await this.deliveryQueue.isRunningIn(former, run)) ? 'elsewhere' : await attempt();
    });
  }

  /**
   * Move a lane or a batch of an endpoint to its home shard, unless another shard is moving one. Else two workers that do not agree
   * where home is would each find the deliveries in the other shard, and both remove them.
   */
  async move<Result>(
    endpointId: EndpointId,
    shard: QueueShard,
    move: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    return await this.#whileClaimed({ endpointId, eventId: MOVING }, shard, move);
  }

  /** Whether some shard's lane or batch of an endpoint is on its way. */
  async isMoving(endpointId: EndpointId): Promise<boolean> {
    return (await this.redis.exists(keys.sending(endpointId, MOVING))) > 0;
  }

  async #whileClaimed<Result>(
    { endpointId: endpoint, eventId: event }: Pick<DeliveryParts, 'endpointId' | 'eventId'>,
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

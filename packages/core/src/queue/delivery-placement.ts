import type { DeliveryRun } from '../model/delivery';
import type { QueueShard } from '../model/queue-layout';
import type { SendingClaims } from './redis-sending-claims';
import type { ShardedDeliveryQueue } from './sharded-delivery-queue';
import type { ShardsInForce } from './shards-in-force';

export interface DeliveryPlacementDeps {
  readonly shards: Pick<ShardsInForce, 'homeOf' | 'formerHomesOf' | 'isSettled'>;
  readonly deliveryQueue: Pick<ShardedDeliveryQueue, 'bringHome' | 'isRunningIn'>;
  readonly claims: SendingClaims;
}

/**
 * Whether a delivery's job may be worked on where it is. While the queues are being split anew there may be two jobs for one
 * delivery, in two shards: the one that is not at home is brought there, and while processes may disagree about where that
 * is, whoever works on either keeps the other waiting. As long as all agree, which is nearly always, this costs no command.
 */
export function createDeliveryPlacement({ shards, deliveryQueue, claims }: DeliveryPlacementDeps) {
  async function work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (shards.isSettled) return await attempt();
    if (!(await claims.claim(run, shard))) return 'elsewhere';
    try {
      // What began before anybody knew of another layout has claimed nothing.
      if (await deliveryQueue.isRunningIn(shards.formerHomesOf(run.endpointId), run)) return 'elsewhere';
      return await attempt();
    } finally {
      await claims.release(run, shard);
    }
  }

  return {
    isAtHome: ({ endpointId }: Pick<DeliveryRun, 'endpointId'>, shard: QueueShard): boolean =>
      shards.homeOf(endpointId).prefix === shard.prefix,

    /** @returns whether the job may end where it is: not so while a worker is at another one at home. */
    bringHome: (run: DeliveryRun): Promise<boolean> => deliveryQueue.bringHome(run),

    /** Makes an attempt, unless the delivery is just being worked on in another shard. */
    work,
  };
}

export type DeliveryPlacement = ReturnType<typeof createDeliveryPlacement>;

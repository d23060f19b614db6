import { decodeAddress } from '../../domain/endpoint';
import { keys, queueKeysOf } from '../../domain/keys';
import { oneShard, type QueueShard, type QueueShards } from '../../domain/queues';
import type { Emit } from '../../domain/signal';
import type { Clock } from '../../platform/clock';
import type { RedisClient } from '../../platform/redis-connect';
import { WakeUpTimer } from '../../platform/timers';
import { HeldDeliveries } from '../bullmq-held-deliveries';
import { ScheduledQueue } from '../bullmq-scheduled-queue';
import { IN_FORCE_AFTER_MS, type LayoutStore } from '../redis-layout-store';
import type { ShardsInForce } from '../shards-in-force';
import { MisplacedJobs } from './bullmq-misplaced-jobs';
import { replaceWeights } from './resharding.script';

export interface ReshardingOptions {
  readonly redis: RedisClient;
  readonly shards: ShardsInForce;
  readonly layoutStore: Pick<LayoutStore, 'leave'>;
  readonly workerId: string;
  readonly clock: Clock;
  readonly emit: Emit;
}

const TICK_S = 2;
const TICK_MS = TICK_S * 1_000;
// Only the weights are to be copied: one worker does it this often.
const AT_REST_MS = 10_000;
const RELEASED_AT_ONCE = 1_000;

/**
 * After the queues were split again: moves all jobs to their home shards, and reports when that is done. One
 * worker at a time does it; two at once do no harm.
 */
export class Resharding {
  readonly #timer = new WakeUpTimer(() => this.#runAndGoOn());

  constructor(private readonly options: ReshardingOptions) {}

  start(): void {
    this.#timer.wakeUpInAbout(TICK_S);
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  async runOnce(): Promise<void> {
    const { redis, shards, layoutStore, workerId } = this.options;
    const { known } = shards;
    if (!known || shards.all().length === 1) return;
    const isAtRest = known.others.every(({ leftSince }) => leftSince !== undefined);
    const leaseMs = isAtRest ? AT_REST_MS : TICK_MS;
    if ((await redis.set(keys.resharding, workerId, 'PX', leaseMs, 'NX')) === null) return;
    await copyWeights(redis, shards);
    if (isAtRest) return;

    // Before that a process may still put jobs on a former home shard.
    const isCertain = known.now - known.inForce.since >= 2 * IN_FORCE_AFTER_MS;
    let isClear = isCertain;
    for (const shard of shards.all()) isClear = (await this.#clear(shard)) && isClear;
    const former = known.others.filter(({ since }) => since < known.inForce.since);
    if (isClear)
      await layoutStore.leave(
        known.inForce.count,
        former.map(({ count }) => count),
      );
  }

  /** Give whether no job here belongs elsewhere. */
  async #clear(shard: QueueShard): Promise<boolean> {
    const { redis, shards } = this.options;
    const misplaced = new MisplacedJobs(redis, shards, shard);
    const moved =
      (await this.#releaseHeld(shard)) +
      (await misplaced.putBackDelayed()) +
      (await misplaced.moveFailed()) +
      (await new ScheduledQueue(redis, shards).bringHome(shard));
    if (moved > 0 || (await misplaced.hasWaiting())) return false;
    if (!shards.former().some(({ prefix }) => prefix === shard.prefix)) return true;
    return (await misplaced.moveFailedEvents()) === 0 && !(await misplaced.hasEvents());
  }

  /**
   * Release held deliveries: workers take them, and they are held again in their home shard. Gives at how
   * many endpoints there were some.
   */
  async #releaseHeld({ prefix }: QueueShard): Promise<number> {
    const { redis, shards, clock } = this.options;
    const held = new HeldDeliveries(redis, oneShard(prefix));
    const wakeUps = await redis.zrange(queueKeysOf(prefix).wakeUps, '0', '-1');
    const addresses = wakeUps.map(decodeAddress);
    const misplaced = addresses.filter(({ endpointId }) => shards.homeShardOf(endpointId).prefix !== prefix);
    for (const address of misplaced) {
      for (let left = 1, released = 1; left > 0 && released > 0; ) {
        const wakeUpWasDueAt = await held.wakeUpDueAt(address);
        const now = clock();
        const request = { most: RELEASED_AT_ONCE, wakeUpWasDueAt, wakeUpAgainAt: now + TICK_MS, now };
        ({ left, released } = await held.release(address, request));
      }
    }
    return misplaced.length;
  }

  async #runAndGoOn(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      this.options.emit({ name: 'task.failed', task: 'move jobs to their shards', error });
    }
    this.start();
  }
}

/**
 * Copy the accounts' weights from the first shard, where they are set, to all others: scripts see one shard's
 * keys only.
 */
async function copyWeights(redis: RedisClient, shards: QueueShards): Promise<void> {
  const stored = await redis.hgetall(queueKeysOf(shards.first.prefix).accountWeights);
  const all = Object.entries(stored).map(([account, weight]) => ({ account, weight }));
  const others = shards.all().filter(({ prefix }) => prefix !== shards.first.prefix);
  await Promise.all(
    others.map(({ prefix }) => replaceWeights({ weights: queueKeysOf(prefix).accountWeights, all })(redis)),
  );
}

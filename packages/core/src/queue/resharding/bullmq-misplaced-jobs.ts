import { endpointOfJob, parseDeliveryId, parseLaneJobId } from '../../domain/delivery';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShard, type QueueShards } from '../../domain/queues';
import { chunksOf } from '../../platform/batches';
import { createAtomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { DeliveryShard } from '../bullmq-delivery-shard';
import { createJobKeys, type JobKeys } from '../bullmq-layout';
import { dropFailed, putBackDelayed, takeFailed } from './bullmq-misplaced-jobs.script';

const PAGE = 200;

/**
 * Jobs of a shard that belong elsewhere since the queues were split again. A worker that takes one moves it
 * to its home shard; this class handles jobs that no worker would take for a long time.
 */
export class MisplacedJobs {
  readonly #deliveries: JobKeys;
  readonly #events: JobKeys;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    private readonly shard: QueueShard,
  ) {
    this.#deliveries = createJobKeys(shard.prefix, DELIVERIES_QUEUE);
    this.#events = createJobKeys(shard.prefix, EVENTS_QUEUE);
  }

  /**
   * Put delayed jobs back: in their home shard they wait again, if they are not due. Gives how many there
   * were.
   */
  async putBackDelayed(): Promise<number> {
    const jobs = this.#deliveries;
    let count = 0;
    for await (const page of this.#membersOf(jobs.delayed)) {
      const ids = page.filter((job) => this.#isMisplaced(job));
      count += ids.length;
      if (ids.length > 0) await putBackDelayed({ base: jobs.base, ids })(this.redis);
    }
    return count;
  }

  /** Moves dead letters to their home shards. Gives how many there were. */
  async moveFailed(): Promise<number> {
    let count = 0;
    for await (const page of this.#membersOf(this.#deliveries.failed)) {
      for (const job of page.filter((one) => this.#isMisplaced(one) && !parseLaneJobId(one))) {
        const homeShard = this.shards.homeShardOf(endpointOfJob(job) ?? '');
        await this.#moveFailed(DELIVERIES_QUEUE, job, homeShard);
        count += 1;
      }
    }
    return count;
  }

  /** Move failed events from a shard that is given up to the first shard. Gives how many there were. */
  async moveFailedEvents(): Promise<number> {
    let count = 0;
    for await (const page of this.#membersOf(this.#events.failed)) {
      for (const job of page) await this.#moveFailed(EVENTS_QUEUE, job, this.shards.first);
      count += page.length;
    }
    return count;
  }

  /** Whether deliveries here belong elsewhere, waiting or running. */
  async hasWaiting(): Promise<boolean> {
    for (const list of [this.#deliveries.active, this.#deliveries.wait]) {
      const jobs = await this.redis.lrange(list, 0, -1);
      if (jobs.some((job) => this.#isMisplaced(job))) return true;
    }
    for await (const page of this.#membersOf(this.#deliveries.prioritized)) {
      if (page.some((job) => this.#isMisplaced(job))) return true;
    }
    return false;
  }

  /** Whether any event here is not fanned out. */
  async hasEvents(): Promise<boolean> {
    const { wait, active, prioritized, delayed, paused } = this.#events;
    return (await this.redis.exists(wait, active, prioritized, delayed, paused)) > 0;
  }

  async #moveFailed(queue: string, job: string, to: QueueShard): Promise<void> {
    const [here, there] = [this.shard, to].map(({ prefix }) => createJobKeys(prefix, queue));
    if (!here || !there) return;
    const [stored, failedAt] = await Promise.all([
      this.redis.hgetall(here.job(job)),
      this.redis.zscore(here.failed, job),
    ]);
    if (failedAt === null) return;
    // Write there first, then remove here. What is in a lane or a batch there is younger, so it stays.
    const fields = Object.entries(stored).map(([name, value]) => ({ name, value }));
    const taken = takeFailed({ base: there.base, id: job, failedAt, fields });
    const delivery = parseDeliveryId(job);
    const isUnplaced = delivery && new DeliveryShard(this.redis, to.prefix).guardUnplaced(delivery);
    const steps = isUnplaced ? [isUnplaced, taken] : [taken];
    if (fields.length > 0) await createAtomic(this.redis)(steps);
    await dropFailed({ base: here.base, id: job })(this.redis);
  }

  #isMisplaced(job: string): boolean {
    const endpointId = endpointOfJob(job);
    return endpointId !== undefined && this.shards.homeShardOf(endpointId).prefix !== this.shard.prefix;
  }

  // Members that stay are found, whatever comes and goes meanwhile.
  async *#membersOf(sortedSet: string): AsyncGenerator<readonly string[], void> {
    let cursor = '0';
    do {
      const [next, flat] = await this.redis.zscan(sortedSet, cursor, 'COUNT', PAGE);
      const members = flat.filter((_member, i) => i % 2 === 0);
      // A small set comes all at once.
      yield* chunksOf(members, PAGE);
      cursor = next;
    } while (cursor !== '0');
  }
}

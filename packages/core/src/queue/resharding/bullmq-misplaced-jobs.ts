import { parseDeliveryId } from '../../domain/delivery';
import { queueKeysOf } from '../../domain/keys';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShard, type QueueShards } from '../../domain/queues';
import { chunksOf } from '../../platform/batches';
import type { RedisClient } from '../../platform/redis-connect';
import { defineScript } from '../../platform/redis-script';
import { createJobKeys, type JobKeys, jobFields } from '../bullmq-layout';
import { FAIR_ORDER, PUT_BACK } from '../libraries';

// KEYS: delayed, prioritized, priority counter, meta, active, marker, events, the fair order's state,
// weights. ARGV: prefix of the jobs' keys, then jobs.
const PUT_BACK_DELAYED = defineScript(
  `
  local delayed, prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local queue = {base = ARGV[1], prioritized = prioritized, counter = counter, meta = meta, active = active}
  queue.marker, queue.events = marker, events
  local priority_of, finish = fair_order(prioritized, KEYS[8], KEYS[9])
  for i = 2, #ARGV do
    local job = ARGV[i]
    if redis.call('ZREM', delayed, job) == 1 then
      local account = string.match(redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '', '"account_id":"([%w_-]+)"') or ''
      put_back(queue, job, priority_of(account, string.match(job, '[^.]*$'), 1))
    end
  end
  finish()
  wake_workers(queue)`,
  FAIR_ORDER,
  PUT_BACK,
);

// An existing job there is younger, so it stays. KEYS: job, failed. ARGV: job's id, when it failed, then its
// fields.
const TAKE_FAILED = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then return end
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
  redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])`);

// KEYS: job, failed. ARGV: job's id.
const DROP_FAILED = defineScript(`
  if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then redis.call('DEL', KEYS[1]) end`);

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
    const { base, delayed, prioritized, priorityCounter, meta, active, marker, events } = this.#deliveries;
    const { fairOrder, accountWeights } = queueKeysOf(this.shard.prefix);
    const queue = [delayed, prioritized, priorityCounter, meta, active, marker, events];
    const scriptKeys = [...queue, fairOrder(DELIVERIES_QUEUE), accountWeights];
    let count = 0;
    for await (const page of this.#membersOf(delayed)) {
      const jobs = page.filter((job) => this.#isMisplaced(job));
      count += jobs.length;
      if (jobs.length > 0) await PUT_BACK_DELAYED(this.redis, scriptKeys, [base, ...jobs]);
    }
    return count;
  }

  /** Moves dead letters to their home shards. Gives how many there were. */
  async moveFailed(): Promise<number> {
    let count = 0;
    for await (const page of this.#membersOf(this.#deliveries.failed)) {
      for (const job of page.filter((one) => this.#isMisplaced(one))) {
        const homeShard = this.shards.homeShardOf(parseDeliveryId(job)?.endpointId ?? '');
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
    const [fields, failedAt] = await Promise.all([
      this.redis.hgetall(here.job(job)),
      this.redis.zscore(here.failed, job),
    ]);
    if (failedAt === null) return;
    // Write there first, then remove here.
    const args = [job, failedAt, ...Object.entries(fields).flat()];
    if (args.length > 2) await TAKE_FAILED(this.redis, [there.job(job), there.failed], args);
    await DROP_FAILED(this.redis, [here.job(job), here.failed], [job]);
  }

  #isMisplaced(job: string): boolean {
    const delivery = parseDeliveryId(job);
    return (
      delivery !== undefined && this.shards.homeShardOf(delivery.endpointId).prefix !== this.shard.prefix
    );
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

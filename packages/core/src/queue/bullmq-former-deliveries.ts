import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { z } from 'zod';
import type { AdmissionStore } from '../admission/redis-admission-store';
import { deliveryIdOf, parseDeliveryId } from '../deliveries/delivery-id';
import type { EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AccountId, EventId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { defineScript } from '../redis/redis-script';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import type { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { createJobKeys, type JobKeys } from './bullmq-job-keys';
import { openQueue } from './bullmq-open-queue';
import { deliveryJobSchema } from './delivery-job';
import type { QueueConnection } from './queue-connection';
import { DELIVERIES_QUEUE } from './queue-names';

export interface FormerDeliveriesOptions {
  readonly connection: QueueConnection;
  readonly storeRedis: RedisClient;
  readonly deliveryQueue: Pick<BullmqDeliveryQueue, 'addAll' | 'isRunning'>;
  readonly endpointStore: Pick<EndpointStore, 'listSubscribers'>;
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Every delivery had two job ids, used in turn: its own, and its own with this at the end. */
const SECOND_ID_MARK = '~';
const SLOW_QUEUE = 'deliveries-slow';
const WAKE_QUEUE = 'gates';
/** What was held was in a sorted set of its endpoint, by time of acceptance: the event's id and which job came next. */
const parkedKey = (endpointId: EndpointId) => `parked:{${endpointId}}`;
/** Who is just releasing some of them: a hash of its token, a space, and until when. Whoever holds one anew voids it. */
const claimsKey = (endpointId: EndpointId) => `claims:{${endpointId}}`;
const CLAIM_MS = 10_000;

const SLOW_STATES = ['wait', 'prioritized', 'delayed', 'failed', 'active'] as const;

const ONE_PAGE = 200;
const STILL_RUNNING_MS = 1_000;
const PASS_EVERY_MS = 10_000;
// By then the last process of the former version is gone; whoever starts a worker later has another hour of it.
const PASSES_FOR_MS = 3_600_000;

// KEYS: what is held, claims. ARGV: now, token, how long a claim holds, what to claim. Gives what is claimed.
const CLAIM = defineScript(`
  local claimed, now = {}, tonumber(ARGV[1])
  for i = 4, #ARGV do
    local held_until = string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '%d+$')
    if redis.call('ZSCORE', KEYS[1], ARGV[i]) and tonumber(held_until or '0') <= now then
      redis.call('HSET', KEYS[2], ARGV[i], ARGV[2] .. ' ' .. string.format('%d', now + tonumber(ARGV[3])))
      table.insert(claimed, ARGV[i])
    end
  end
  if #claimed > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
  return claimed`);

// What was held anew since it was claimed stays. KEYS: what is held, claims. ARGV: token, what has a job now.
const LET_GO = defineScript(`
  for i = 2, #ARGV do
    if string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '^%S+') == ARGV[1] then
      redis.call('HDEL', KEYS[2], ARGV[i])
      redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end`);

// A worker of the former version may have been at the job in its place already, and have found this one here when it moved
// the delivery on. KEYS: the job in its place, that one's lock, this job, its lock, lists, sorted sets. ARGV: its id, how
// many lists. Gives whether it is gone.
const DROP_IF_REPLACED = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
  redis.call('DEL', KEYS[3], KEYS[4])
  for i = 5, #KEYS do
    if i < 5 + tonumber(ARGV[2]) then redis.call('LREM', KEYS[i], 0, ARGV[1]) else redis.call('ZREM', KEYS[i], ARGV[1]) end
  end
  return 1`);

const claimedSchema = z.array(z.string());

/**
 * Takes over what the version before this one has left in Redis, while processes of it may still be running: the jobs of
 * its second queue and those under its second ids become jobs like all others, and so does what it held.
 *
 * Nothing is taken away before there is a job in its place, and then only if that one is still there. A job that a worker is
 * just at is waited for: the former version ended jobs whose delivery lived on elsewhere.
 */
export class FormerDeliveries {
  readonly #slowQueue: Queue;
  readonly #wakeQueue: Queue;
  readonly #slowKeys: JobKeys;
  readonly #keys: JobKeys;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: FormerDeliveriesOptions) {
    this.#slowQueue = openQueue(SLOW_QUEUE, options.connection);
    this.#wakeQueue = openQueue(WAKE_QUEUE, options.connection);
    this.#slowKeys = createJobKeys(options.connection.prefix, SLOW_QUEUE);
    this.#keys = createJobKeys(options.connection.prefix, DELIVERIES_QUEUE);
  }

  start(): void {
    this.#schedule(0, performance.now() + PASSES_FOR_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#pass;
    await Promise.all([this.#slowQueue.close(), this.#wakeQueue.close()]);
  }

  /** Looks through all that the former version may have left. */
  async runOnce(): Promise<void> {
    await this.#takeOverSlow();
    for (const accountId of await this.#accounts()) await this.#takeOverHeld(accountId);
    // They asked for looks at what was held. Also those that a worker was at when it was killed: nobody takes jobs from there.
    await this.#wakeQueue.obliterate({ force: true });
  }

  /** Whether it is the id of a job that there would not be today. */
  isFormer(jobId: string): boolean {
    return jobId.endsWith(SECOND_ID_MARK);
  }

  /**
   * Puts a job under today's id in the place of one that a worker is at, which is gone then. Or gives in how many
   * milliseconds to try again. One that can't be read is left to whoever asks.
   */
  async replace(jobId: string, data: unknown): Promise<'unreadable' | 'replaced' | number> {
    const result = await this.#replaceIn(this.#keys, jobId, data);
    return result === 'running' ? STILL_RUNNING_MS : result;
  }

  async #replaceIn(
    of: JobKeys,
    jobId: string,
    data: unknown,
  ): Promise<'unreadable' | 'replaced' | 'running'> {
    const delivery = parseDeliveryId(jobId.replace(SECOND_ID_MARK, ''));
    const job = deliveryJobSchema.safeParse(data);
    if (!delivery || !job.success) return 'unreadable';
    const { connection, deliveryQueue } = this.options;
    await deliveryQueue.addAll([{ accountId: job.data.account_id, ...delivery }]);
    const today = deliveryIdOf(delivery);
    const lists = [of.wait, of.active];
    const sortedSets = [of.prioritized, of.delayed, of.failed];
    const jobs = [this.#keys.job(today), this.#keys.lock(today), of.job(jobId), of.lock(jobId)];
    const isGone = await DROP_IF_REPLACED(
      connection.redis,
      [...jobs, ...lists, ...sortedSets],
      [jobId, lists.length],
    );
    return isGone === 1 ? 'replaced' : 'running';
  }

  // Nobody looks for stalled jobs of this queue any more, so what a killed worker was at is taken over here.
  async #takeOverSlow(): Promise<void> {
    const jobs = await this.#slowQueue.getJobs([...SLOW_STATES], 0, ONE_PAGE - 1);
    let taken = 0;
    for (const job of jobs) {
      if (job?.id === undefined || (await this.#isAtWork(job.id))) continue;
      const result = await this.#replaceIn(this.#slowKeys, job.id, job.data);
      if (result === 'running') continue;
      taken += result === 'replaced' ? 1 : await this.#slowQueue.remove(job.id);
    }
    if (taken > 0 && jobs.length >= ONE_PAGE) await this.#takeOverSlow();
  }

  async #isAtWork(slowJobId: string): Promise<boolean> {
    const { redis } = this.options.connection;
    return (await redis.exists(this.#slowKeys.lock(slowJobId))) === 1;
  }

  async #takeOverHeld(accountId: AccountId): Promise<void> {
    const { storeRedis, endpointStore } = this.options;
    const endpoints = await endpointStore.listSubscribers(accountId);
    const counts = await Promise.all(endpoints.map(({ id }) => storeRedis.exists(parkedKey(id))));
    for (const { id, ordering } of endpoints.filter((_, i) => counts[i] === 1)) {
      await this.#takeOverParked(accountId, id, ordering === 'strict');
    }
  }

  // By pages from the longest waiting on: those of a page that can't be taken yet are there again in the next pass.
  async #takeOverParked(accountId: AccountId, endpointId: EndpointId, isInOrder: boolean): Promise<void> {
    const { storeRedis, admissionStore } = this.options;
    for (let skipped = 0; ; ) {
      const to = skipped + ONE_PAGE - 1;
      const page = await storeRedis.zrange(parkedKey(endpointId), String(skipped), String(to), 'WITHSCORES');
      const parked = pairsOf(page);
      if (parked.length === 0) return;
      if (isInOrder) await admissionStore.joinOrder(endpointId, parked);
      const taken = await this.#takePage(accountId, endpointId, parked);
      skipped += parked.length - taken;
    }
  }

  // Claimed, so that no worker of the former version releases them meanwhile, and one that holds them anew is noticed.
  async #takePage(accountId: AccountId, endpointId: EndpointId, parked: readonly Parked[]): Promise<number> {
    const { storeRedis, deliveryQueue, clock } = this.options;
    const both = [parkedKey(endpointId), claimsKey(endpointId)];
    const token = randomUUID();
    const wanted = parked.map(({ member }) => member);
    const claimed = new Set(
      claimedSchema.parse(await CLAIM(storeRedis, both, [clock(), token, CLAIM_MS, ...wanted])),
    );
    const ours = parked.filter(({ member }) => claimed.has(member));
    const isRunning = await Promise.all(
      ours.map(({ eventId }) => deliveryQueue.isRunning({ eventId, endpointId })),
    );
    const running = ours.filter((_, i) => isRunning[i]).map(({ member }) => member);
    const idle = ours.filter((_, i) => !isRunning[i]);
    await deliveryQueue.addAll(idle.map(({ eventId }) => ({ accountId, eventId, endpointId })));
    if (running.length > 0) await storeRedis.hdel(claimsKey(endpointId), ...running);
    await LET_GO(storeRedis, both, [token, ...idle.map(({ member }) => member)]);
    return idle.length;
  }

  async #accounts(): Promise<readonly AccountId[]> {
    return (await this.options.storeRedis.hkeys(keys.accounts)) as AccountId[];
  }

  #schedule(delayMs: number, until: number): void {
    if (this.#isStopped || performance.now() > until) return;
    this.#timer = setTimeout(() => {
      this.#pass = this.runOnce()
        .catch((error: unknown) =>
          this.options.emit({ name: 'task.failed', task: 'take over former deliveries', error }),
        )
        .then(() => this.#schedule(PASS_EVERY_MS, until));
    }, delayMs);
    this.#timer.unref();
  }
}

interface Parked {
  readonly member: string;
  readonly eventId: EventId;
  readonly acceptedAt: number;
}

function pairsOf(page: readonly string[]): Parked[] {
  const parked: Parked[] = [];
  for (let i = 0; i + 1 < page.length; i += 2) {
    const member = page[i] ?? '';
    const [eventId = ''] = member.split(' ');
    parked.push({ member, eventId: eventId as EventId, acceptedAt: Number(page[i + 1]) });
  }
  return parked;
}

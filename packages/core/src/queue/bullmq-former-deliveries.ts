import type { Queue } from 'bullmq';
import type { AdmissionStore } from '../admission/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Clock } from '../kernel/clock';
import { defineScript } from '../kernel/redis-script';
import { deliveryIdOf, parseDeliveryId } from '../model/delivery';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import { keys } from '../model/keys';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import type { Emit } from '../model/signal';
import type { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { createJobKeys, type JobKeys } from './bullmq-layout';
import { openQueue, type QueueConnection } from './bullmq-open-queue';
import { deliveryJobSchema } from './delivery-job';
import { createRedisFormerHeldStore, type FormerHeld, type FormerHeldStore } from './redis-former-held-store';

export interface FormerDeliveriesOptions {
  readonly connection: QueueConnection;
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

const SLOW_STATES = ['wait', 'prioritized', 'delayed', 'failed', 'active'] as const;

const ONE_PAGE = 200;
const STILL_RUNNING_MS = 1_000;
const PASS_EVERY_MS = 10_000;
// By then the last process of the former version is gone; whoever starts a worker later has another hour of it.
const PASSES_FOR_MS = 3_600_000;

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
  readonly #heldStore: FormerHeldStore;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: FormerDeliveriesOptions) {
    this.#slowQueue = openQueue(SLOW_QUEUE, options.connection);
    this.#wakeQueue = openQueue(WAKE_QUEUE, options.connection);
    this.#slowKeys = createJobKeys(options.connection.prefix, SLOW_QUEUE);
    this.#keys = createJobKeys(options.connection.prefix, DELIVERIES_QUEUE);
    this.#heldStore = createRedisFormerHeldStore(options.connection.redis, options.clock);
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
    const endpoints = await this.options.endpointStore.listSubscribers(accountId);
    const hasHeld = await Promise.all(endpoints.map(({ id }) => this.#heldStore.hasHeld(id)));
    for (const { id, ordering } of endpoints.filter((_, i) => hasHeld[i])) {
      await this.#takeOverHeldOf(accountId, id, ordering === 'strict');
    }
  }

  // By pages from the longest waiting on: those of a page that can't be taken yet are there again in the next pass.
  async #takeOverHeldOf(accountId: AccountId, endpointId: EndpointId, isInOrder: boolean): Promise<void> {
    for (let skipped = 0; ; ) {
      const page = await this.#heldStore.list(endpointId, skipped, ONE_PAGE);
      if (page.length === 0) return;
      if (isInOrder) await this.options.admissionStore.joinOrder(endpointId, page);
      skipped += page.length - (await this.#takePage(accountId, endpointId, page));
    }
  }

  async #takePage(
    accountId: AccountId,
    endpointId: EndpointId,
    page: readonly FormerHeld[],
  ): Promise<number> {
    const { deliveryQueue } = this.options;
    const { held, token } = await this.#heldStore.claim(endpointId, page);
    const isRunning = await Promise.all(
      held.map(({ eventId }) => deliveryQueue.isRunning({ eventId, endpointId })),
    );
    const idle = held.filter((_, i) => !isRunning[i]);
    const running = held.filter((_, i) => isRunning[i]);
    await deliveryQueue.addAll(idle.map(({ eventId }) => ({ accountId, eventId, endpointId })));
    await this.#heldStore.giveBack(endpointId, running);
    await this.#heldStore.letGo(endpointId, idle, token);
    return idle.length;
  }

  async #accounts(): Promise<readonly AccountId[]> {
    return (await this.options.connection.redis.hkeys(keys.accounts)) as AccountId[];
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

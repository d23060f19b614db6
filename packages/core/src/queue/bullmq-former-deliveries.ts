import type { Queue } from 'bullmq';
import type { AdmissionStore } from '../admission/redis-admission-store';
import { type DeliveryParts, parseDeliveryId } from '../deliveries/delivery-id';
import type { EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AccountId, EventId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import type { Emit } from '../signals/signals';
import type { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { createJobKeys, type JobKeys } from './bullmq-job-keys';
import { openQueue } from './bullmq-open-queue';
import { deliveryJobSchema } from './delivery-job';
import type { QueueConnection } from './queue-connection';

export interface FormerDeliveriesOptions {
  readonly connection: QueueConnection;
  readonly storeRedis: RedisClient;
  readonly deliveryQueue: Pick<BullmqDeliveryQueue, 'addAll' | 'isRunning'>;
  readonly endpointStore: Pick<EndpointStore, 'listSubscribers'>;
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly emit: Emit;
}

/** Every delivery had two job ids, used in turn: its own, and its own with this at the end. */
const SECOND_ID_MARK = '~';
const SLOW_QUEUE = 'deliveries-slow';
const WAKE_QUEUE = 'gates';
/** What was held was in a sorted set of its endpoint, by time of acceptance: the event's id and which job came next. */
const parkedKey = (endpointId: EndpointId) => `parked:{${endpointId}}`;

const SLOW_STATES = ['wait', 'prioritized', 'delayed', 'failed', 'active'] as const;

const ONE_PAGE = 200;
const STILL_RUNNING_MS = 1_000;
const PASS_EVERY_MS = 10_000;
// By then the last process of the former version is gone; whoever starts a worker later has another hour of it.
const PASSES_FOR_MS = 3_600_000;

/**
 * Takes over what the version before this one has left in Redis, while processes of it may still be running: the jobs of
 * its second queue and those under its second ids become jobs like all others, and so does what it held.
 *
 * Nothing is taken away before there is a job in its place. A job that a worker is just at is waited for: the former
 * version ended jobs whose delivery lived on elsewhere.
 */
export class FormerDeliveries {
  readonly #slowQueue: Queue;
  readonly #wakeQueue: Queue;
  readonly #slowKeys: JobKeys;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: FormerDeliveriesOptions) {
    this.#slowQueue = openQueue(SLOW_QUEUE, options.connection);
    this.#wakeQueue = openQueue(WAKE_QUEUE, options.connection);
    this.#slowKeys = createJobKeys(options.connection.prefix, SLOW_QUEUE);
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

  /** Puts a job under today's id in the place of one. Gives in how many milliseconds to try again, if it can't be yet. */
  async replace(jobId: string, data: unknown): Promise<number | undefined> {
    const delivery = parseDeliveryId(jobId.replace(SECOND_ID_MARK, ''));
    const job = deliveryJobSchema.safeParse(data);
    if (!delivery || !job.success) return undefined;
    return (await this.#ensureJob(job.data.account_id, delivery)) ? undefined : STILL_RUNNING_MS;
  }

  async #ensureJob(accountId: AccountId, delivery: DeliveryParts): Promise<boolean> {
    const { deliveryQueue } = this.options;
    if (await deliveryQueue.isRunning(delivery)) return false;
    await deliveryQueue.addAll([{ accountId, ...delivery }]);
    return true;
  }

  // Nobody looks for stalled jobs of this queue any more, so what a killed worker was at is taken over here.
  async #takeOverSlow(): Promise<void> {
    const jobs = await this.#slowQueue.getJobs([...SLOW_STATES], 0, ONE_PAGE - 1);
    let taken = 0;
    for (const job of jobs) {
      if (job?.id === undefined || (await this.#isAtWork(job.id))) continue;
      if ((await this.replace(job.id, job.data)) !== undefined) continue;
      taken += await this.#slowQueue.remove(job.id);
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
    const { storeRedis, deliveryQueue, admissionStore } = this.options;
    const key = parkedKey(endpointId);
    for (let skipped = 0; ; ) {
      const page = await storeRedis.zrange(
        key,
        String(skipped),
        String(skipped + ONE_PAGE - 1),
        'WITHSCORES',
      );
      const parked = pairsOf(page);
      if (parked.length === 0) return;
      if (isInOrder) await admissionStore.joinOrder(endpointId, parked);
      const isRunning = await Promise.all(
        parked.map(({ eventId }) => deliveryQueue.isRunning({ eventId, endpointId })),
      );
      const idle = parked.filter((_, i) => !isRunning[i]);
      await deliveryQueue.addAll(idle.map(({ eventId }) => ({ accountId, eventId, endpointId })));
      if (idle.length > 0) await storeRedis.zrem(key, ...idle.map(({ member }) => member));
      skipped += parked.length - idle.length;
    }
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

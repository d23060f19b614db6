import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { answerWithin, WakeUpTimer } from '@hookferry/core/platform/timers';
import { createJobKeys, type JobKeys } from '@hookferry/core/queue/bullmq-layout';
import { extendLocks, hasRunning, restWhenDrained } from '@hookferry/core/queue/bullmq-worker.script';
import {
  DelayedError,
  Job,
  type JobJson,
  LockManager,
  type Processor,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type { SharedCapacity, Sharer } from '../capacity';

export interface BullmqWorkerOptions
  extends Omit<WorkerOptions, 'autorun' | 'connection' | 'prefix' | 'concurrency'> {
  readonly redis: RedisClient;
  /** On this Redis. */
  readonly atomic: Atomic;
  readonly prefix: string;
  /** How often it looks for jobs with an expired lock, at the least. Longer than `stalledInterval`. Milliseconds. */
  readonly stalledCheckMs: number;
  /** How many jobs may run, including those of other workers with the same capacity. */
  readonly capacity: SharedCapacity;
  /** How long `stop` waits for running jobs before it cancels them. Milliseconds; absent: for ever. */
  readonly stopDeadlineMs?: number | undefined;
}

// A type that BullMQ doesn't have leads to the `backoffStrategy`.
const OUR_BACKOFF = { type: 'custom' };
// As many as make a difference to the delay. BullMQ itself keeps all, and each is a kilobyte or two.
const KEPT_TRACES = 8;

// Longer than a worker waits for a wake-up (`drainDelay`), and the second after which BullMQ replaces a
// connection.
const WOKEN_WITHIN_MS = 15_000;

// Far longer than a fetched job takes from Redis' reply to the processor.
const ARRIVAL_MS = 500;

/** Private members of BullMQ 6.7's worker, most of its main loop. */
interface Private {
  /** Puts jobs with an expired lock back, at most once in `stalledInterval` over all workers. */
  moveStalledJobsToWait(): Promise<void>;
  /** The loop checks how many jobs it may take when one ends, or when a promise is added here. */
  readonly mainLoopQueue?: { add(nothing: Promise<void>): void } | null;
  /** Set while it waits for a wake-up. */
  readonly waiting: Promise<number> | null;
  /** Nothing waits: it waits for a wake-up, or until `blockUntil`, before it fetches again. */
  drained: boolean;
  /** When the next delayed job is due; 0 if there is none. Unix time in milliseconds. */
  blockUntil: number;
  /** Resolves at a wake-up, or after the longest wait, with the next `blockUntil`. */
  waitForJob(blockUntil: number): Promise<number>;
}

/** Extends locks together with what other parts of the process do about then: its own timer would wake an idle one. */
class LocksInTime extends LockManager {
  readonly #timer = new WakeUpTimer(() => this.#extend());

  override start(): void {
    this.#timer.wakeUpWithin(this.opts.lockRenewTime / 2);
  }

  override async close(): Promise<void> {
    await super.close();
    void this.#timer.stop();
  }

  rename(jobId: string, other: string): void {
    const tracked = this.trackedJobs.get(jobId);
    if (!tracked) return;
    this.trackedJobs.delete(jobId);
    this.trackedJobs.set(other, tracked);
  }

  // By BullMQ itself it is the time of the take: by a clock that someone may set back, and then nothing would be extended.
  override trackJob(
    jobId: string,
    token: string,
    _takenAt: number,
    shouldCreateController?: boolean,
  ): ReturnType<LockManager['trackJob']> {
    return super.trackJob(jobId, token, steadyClock(), shouldCreateController);
  }

  async #extend(): Promise<void> {
    const now = steadyClock();
    const due: string[] = [];
    for (const [jobId, { token, ts, abortController }] of this.trackedJobs) {
      if (ts && ts + this.opts.lockRenewTime / 2 >= now) continue;
      if (ts) due.push(jobId);
      this.trackedJobs.set(jobId, { token, ts: now, ...(abortController ? { abortController } : {}) });
    }
    if (due.length > 0) await this.extendLocks(due);
    this.start();
  }
}

/**
 * A worker that never loses its jobs. A job belongs to it as long as the process lives and reaches Redis.
 * Jobs that were fetched over a connection that broke are given back at once. A job that fails for good is
 * kept for people, and a finished one is removed, whatever its options say.
 */
export class BullmqWorker<Data, Result = unknown> extends Worker<Data, Result> implements Sharer {
  /** Called when Redis has replied to a fetch. */
  onFetched: () => void = () => {};
  readonly #redis: RedisClient;
  protected readonly atomic: Atomic;
  readonly #keys: JobKeys;
  readonly #stalledChecks: WakeUpTimer;
  readonly #underWay = new Set<string>();
  readonly #capacity: SharedCapacity;
  readonly #stopDeadlineMs: number | undefined;
  #isCancelled = false;
  #runningCount = 0;
  #beginsAndEnds = 0;
  /** Whether its next fetch comes of `drainDelay` alone. */
  #asksUnwoken = false;
  /** Jobs that were given back, with the token of their fetch: BullMQ may still hand them over. */
  readonly #givenBack = new Set<string>();

  constructor(
    queue: string,
    process: Processor<Data, Result>,
    { redis, atomic, prefix, stalledCheckMs, capacity, stopDeadlineMs, ...options }: BullmqWorkerOptions,
  ) {
    super(queue, process, { ...options, autorun: false, connection: redis, prefix });
    this.#redis = redis;
    this.atomic = atomic;
    this.#stalledChecks = new WakeUpTimer(async () => {
      await this.checkConnectionError(() => this.#checkStalled());
      if (!this.closing) this.#stalledChecks.wakeUpWithin(stalledCheckMs);
    });
    this.#keys = createJobKeys(prefix, queue);
    this.#capacity = capacity;
    this.#stopDeadlineMs = stopDeadlineMs;
    capacity.join(this);
    this.#fetchOneAhead();
    this.#neverWaitInVain();
    redis.on('ready', this.#onConnected);
  }

  start(): void {
    void this.run();
  }

  /** Take no more jobs, and let running ones finish; cancel them after the deadline. */
  async stop(): Promise<void> {
    const deadline = this.#stopDeadlineMs && setTimeout(() => this.cancelAllJobs(), this.#stopDeadlineMs);
    await this.close();
    if (deadline) clearTimeout(deadline);
  }

  /** Cancel all running jobs, and those that are begun from now on: they came with the end of others. */
  override cancelAllJobs(reason?: string): void {
    this.#isCancelled = true;
    super.cancelAllJobs(reason);
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get wantsMore(): boolean {
    return !this.#private.drained;
  }

  /** Counts up whenever a job begins or ends. */
  get beginsAndEnds(): number {
    return this.#beginsAndEnds;
  }

  takeMore(): void {
    const before = this.concurrency;
    this.#fetchOneAhead();
    if (this.concurrency > before) this.#private.mainLoopQueue?.add(Promise.resolve());
  }

  /**
   * A job that was fetched at another job's end begins at once: BullMQ's loop would start it only after
   * fetching others. While the loop waits for a wake-up nothing waits, and most jobs do not look for another one.
   */
  override async processJob(job: Job<Data, Result>, token: string, mayFetchNext = () => true): Promise<void> {
    const mayFetch = () => mayFetchNext() && this.#runningCount <= this.#capacity.limitOf(this);
    this.#runningCount += 1;
    this.#fetchOneAhead();
    try {
      let next = await this.runJob(job, token, mayFetch);
      while (next) next = await this.runJob(next, next.token ?? token, mayFetch);
    } finally {
      this.#runningCount -= 1;
      this.#fetchOneAhead();
      this.#capacity.offerToOthers(this);
    }
  }

  /** Whether BullMQ's loop waits for a wake-up. */
  protected get isLoopWaiting(): boolean {
    return this.#private.waiting !== null;
  }

  /** Run one job to its end, and give the one that was taken in its place. */
  protected async runJob(
    job: Job<Data, Result>,
    token: string,
    mayFetchNext: () => boolean,
  ): Promise<Job<Data, Result> | undefined> {
    return (await super.processJob(job, token, () => mayFetchNext() && !this.isLoopWaiting)) || undefined;
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job<Data, Result>> {
    const job = await this.takeJob(token, name);
    this.onFetched();
    if (!this.wantsMore) this.#capacity.offerToOthers(this);
    return job as Job<Data, Result>;
  }

  /**
   * BullMQ itself learns from an empty fetch that no more jobs wait, and wakes a worker for each job that it
   * fetches: three round trips for a job that comes alone.
   */
  protected async takeJob(token: string, name?: string): Promise<Job<Data, Result> | undefined> {
    // If nothing has woken it most likely nothing waits, and the empty fetch tells.
    const rest = this.#asksUnwoken ? undefined : this.#restWhenDrained();
    this.#asksUnwoken = false;
    const job = await super.moveToActive(token, name);
    const nextDueAt = await rest;
    if (job !== undefined && nextDueAt !== undefined) this.rest(nextDueAt);
    return job;
  }

  /** Nothing waits: wait for a wake-up, or until the first delayed job is due. */
  protected rest(nextDueAt: number): void {
    this.#private.drained = true;
    this.#private.blockUntil = nextDueAt;
  }

  /** Expect more jobs to wait. */
  protected stayAwake(): void {
    this.#private.drained = false;
    this.#private.blockUntil = 0;
  }

  /** A running job goes on as another one, which has the same lock: for BullMQ as well, which looks at its id. */
  protected goOnAs(job: Job<Data, Result>, jobId: string): void {
    const before = job.id ?? '';
    this.#underWay.delete(before);
    this.#underWay.add(jobId);
    (this.lockManager as LocksInTime).rename(before, jobId);
    job.id = jobId;
  }

  protected disown(jobId: string): void {
    this.#underWay.delete(jobId);
    this.lockManager.untrackJob(jobId);
  }

  override async extendJobLocks(jobIds: string[], tokens: string[], durationMs: number): Promise<string[]> {
    const jobs = this.#keys;
    const locks = { jobs, base: jobs.base, lockMs: durationMs, ids: jobIds, tokens };
    return [...(await extendLocks(locks)(this.#redis))];
  }

  protected override createLockManager(): void {
    // BullMQ has set both by now.
    const times = this.opts as Required<Pick<WorkerOptions, 'lockRenewTime' | 'lockDuration'>>;
    const holder = this as unknown as ConstructorParameters<typeof LockManager>[0];
    this.lockManager = new LocksInTime(holder, { ...times, workerId: this.id });
  }

  // BullMQ's own timer would wake an idle process for each queue.
  override async startStalledCheckTimer(): Promise<void> {
    void this.#stalledChecks.runNow();
  }

  override async close(force?: boolean): Promise<void> {
    this.#redis.off('ready', this.#onConnected);
    void this.#stalledChecks.stop();
    await super.close(force);
    this.#capacity.leave(this);
  }

  protected override async callProcessJob(
    job: Job<Data, Result>,
    token: string,
    signal?: AbortSignal,
  ): Promise<Result> {
    const jobId = job.id ?? '';
    // Another worker may be running it: this one leaves it alone, and takes the next one.
    if (this.#givenBack.delete(givenBackKey(jobId, token))) throw new DelayedError();
    if (this.#isCancelled) this.cancelJob(jobId);
    this.#underWay.add(jobId);
    this.#beginsAndEnds += 1;
    try {
      return await super.callProcessJob(job, token, signal);
    } finally {
      this.#beginsAndEnds += 1;
      this.#underWay.delete(job.id ?? '');
    }
  }

  protected override createJob(json: JobJson, jobId: string): Job<Data, Result> {
    const job = this.#read(json, jobId);
    job.opts.backoff ??= OUR_BACKOFF;
    job.opts.stackTraceLimit = KEPT_TRACES;
    // Producers set these for queues of their own. Here the first would remove jobs that nobody has seen; the
    // second would leave finished jobs, with their payload, where no retention and no erasure looks for it.
    if (job.opts.removeOnFail !== undefined) delete job.opts.removeOnFail;
    if (job.opts.removeOnComplete !== undefined) delete job.opts.removeOnComplete;
    return job;
  }

  // BullMQ itself would drop such a job, find it again when its lock has expired, and so on for ever.
  #read(json: JobJson, jobId: string): Job<Data, Result> {
    try {
      return super.createJob(json, jobId);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const deferredFailure = `Its data is not JSON: ${error.message}`;
      return super.createJob({ ...json, data: '{}', deferredFailure }, jobId);
    }
  }

  // BullMQ's loop fetches all jobs that it may take, one round trip after the other, before it begins with
  // one.
  #fetchOneAhead(): void {
    this.concurrency = Math.max(Math.min(this.#runningCount + 1, this.#capacity.limitOf(this)), 1);
  }

  /**
   * BullMQ replaces a connection that has waited for too long: it closes it, waits for its end without a
   * bound, and opens it again. `connect()` finishes and the connection comes back, but a client that breaks
   * just before it is closed may never report its end. The next fetch waits for Redis as long as it takes.
   */
  #neverWaitInVain(): void {
    const loop = this.#private;
    const waitForJob = loop.waitForJob.bind(this);
    const drainDelayMs = (this.opts.drainDelay ?? Number.POSITIVE_INFINITY) * 1_000;
    loop.waitForJob = async (blockUntil) => {
      const beganAt = steadyClock();
      const next = (await answerWithin(WOKEN_WITHIN_MS, waitForJob(blockUntil))) ?? 0;
      this.#asksUnwoken = steadyClock() - beganAt >= drainDelayMs;
      return next;
    };
  }

  get #private(): Private {
    return this as unknown as Private;
  }

  /** While nobody runs a job of the queue there is none to find. */
  async #checkStalled(): Promise<void> {
    const [isRunning] = await this.atomic([hasRunning({ jobs: this.#keys })]);
    if (isRunning && !this.closing) await this.#private.moveStalledJobsToWait();
  }

  /** When the next delayed job is due, or 0; `undefined` if a job can be fetched, or that is not known. */
  async #restWhenDrained(): Promise<number | undefined> {
    // After the fetch that goes out in this turn of the event loop.
    await immediate();
    try {
      return await restWhenDrained({ jobs: this.#keys })(this.#redis);
    } catch {
      // The fetch fails too, or the next one, and reports the reason.
      return undefined;
    }
  }

  readonly #onConnected = (): void => {
    this.#giveLostBack().catch((error: unknown) => {
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    });
  };

  /**
   * Redis may have given this worker a job in a reply that a broken connection has lost. No other worker
   * would get it before its lock has expired.
   */
  async #giveLostBack(): Promise<void> {
    const suspects = await this.#fetchedElsewhere();
    if (suspects.size === 0) return;
    // A reply on the new connection may still be on its way.
    await wait(ARRIVAL_MS);
    for (const [jobId, token] of await this.#fetchedElsewhere()) {
      if (suspects.get(jobId) === token && !this.closing) await this.#giveBack(jobId, token);
    }
  }

  /**
   * Jobs that Redis has given to this worker and that it knows nothing of, with the tokens of their fetch.
   */
  async #fetchedElsewhere(): Promise<ReadonlyMap<string, string>> {
    const active = await this.#redis.lrange(this.#keys.active, 0, -1);
    const unknown = active.filter((jobId) => !this.#underWay.has(jobId));
    if (unknown.length === 0) return new Map();
    const tokens = await this.#redis.mget(unknown.map((jobId) => this.#keys.lock(jobId)));
    const pairs = unknown.map((jobId, i) => [jobId, tokens[i] ?? ''] as const);
    return new Map(
      pairs.filter(([jobId, token]) => token.startsWith(`${this.id}:`) && !this.#underWay.has(jobId)),
    );
  }

  async #giveBack(jobId: string, token: string): Promise<void> {
    if (this.#underWay.has(jobId)) return;
    this.#givenBack.add(givenBackKey(jobId, token));
    const job = await Job.fromId<Data, Result>(this, jobId);
    await job?.moveToWait(token);
    // BullMQ wakes no worker for a job with a priority that is put back.
    await this.#redis.zadd(this.#keys.marker, 0, '0');
  }
}

function givenBackKey(jobId: string, token: string): string {
  return `${token} ${jobId}`;
}

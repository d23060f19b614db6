import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { defineScript } from '@hookferry/core/platform/redis-script';
import { answerWithin } from '@hookferry/core/platform/timers';
import { createJobKeys, DELAYED_SCORE, type JobKeys } from '@hookferry/core/queue/bullmq-layout';
import { DelayedError, Job, type JobJson, type Processor, Worker, type WorkerOptions } from 'bullmq';
import { z } from 'zod';

export interface BullmqWorkerOptions extends Omit<WorkerOptions, 'connection' | 'prefix' | 'concurrency'> {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** How many jobs may be under way, those of other workers with the same one included. */
  readonly capacity: SharedCapacity;
  /** How long `stop` waits for jobs under way before it cancels them. Milliseconds; unless given, for ever. */
  readonly stopDeadlineMs?: number | undefined;
}

// BullMQ's own script sets each lock anew, which Redis refuses while it is out of memory. A worker that has
// sent something then and can't record it would lose its job to another one, which sends it again. KEYS:
// stalled. ARGV: what the keys of jobs begin with, for how long, then the id and the token of each. Gives the
// ids of those that are not ours any more.
const EXTEND_LOCKS = defineScript(`
  local lost = {}
  for i = 3, #ARGV, 2 do
    local lock = ARGV[1] .. ARGV[i] .. ':lock'
    if redis.call('GET', lock) == ARGV[i + 1] and redis.call('PEXPIRE', lock, ARGV[2]) == 1 then
      redis.call('SREM', KEYS[1], ARGV[i])
    else
      table.insert(lost, ARGV[i])
    end
  end
  return lost`);

// Takes the marker away that wakes workers if nothing waits: then it gives when the next delayed job is due,
// or 0. KEYS: wait, prioritized, delayed, marker.
const REST_WHEN_DRAINED = defineScript(`
  if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return false end
  redis.call('ZREM', KEYS[4], '0')
  local next_delayed = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if not next_delayed[2] then return 0 end
  return math.floor(tonumber(next_delayed[2]) / ${DELAYED_SCORE})`);

const lostSchema = z.array(z.string());

// A type that BullMQ doesn't have leads to the `backoffStrategy`.
const OUR_BACKOFF = { type: 'custom' };

// Above the ten seconds that BullMQ waits to be woken, and the one after which it makes a connection anew.
const WOKEN_WITHIN_MS = 15_000;

// Far longer than what was fetched takes from Redis' answer to the processor.
const ARRIVAL_MS = 500;

/** What BullMQ 6.7 keeps to itself of its main loop. */
interface MainLoop {
  /** The loop looks how many jobs it may take when one ends, or when something is added here. */
  readonly mainLoopQueue?: { add(nothing: Promise<void>): void } | null;
  /** Set while it waits to be woken. */
  readonly waiting: Promise<number> | null;
  /** Nothing waits: it waits to be woken before it fetches again, or until `blockUntil`. */
  drained: boolean;
  /** When the next delayed job is due; 0 if there is none. Unix time in milliseconds. */
  blockUntil: number;
  /** Resolves when it is woken, or has waited for long enough, with the next `blockUntil`. */
  waitForJob(blockUntil: number): Promise<number>;
}

/**
 * A worker that keeps what it has: a job stays its own for as long as the process lives and reaches Redis;
 * what was fetched for it over a connection that broke is given back at once; a job that fails for good stays
 * to be looked into, and one that is done goes, whatever its options say.
 */
export class BullmqWorker<Data> extends Worker<Data> implements Sharer {
  readonly #redis: RedisClient;
  readonly #keys: JobKeys;
  readonly #underWay = new Set<string>();
  readonly #capacity: SharedCapacity;
  readonly #stopDeadlineMs: number | undefined;
  /** How many jobs are at work at the same time. */
  #running = 0;
  #steps = 0;
  /** Jobs that were given back, with the token of their fetch: BullMQ may hand them over all the same. */
  readonly #givenBack = new Set<string>();

  constructor(
    queue: string,
    process: Processor<Data>,
    { redis, prefix, capacity, stopDeadlineMs, ...options }: BullmqWorkerOptions,
  ) {
    super(queue, process, { ...options, connection: redis, prefix });
    this.#redis = redis;
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

  /** Takes no more jobs, and lets those under way come to their end; after the deadline it cancels them. */
  async stop(): Promise<void> {
    const deadline = this.#stopDeadlineMs && setTimeout(() => this.cancelAllJobs(), this.#stopDeadlineMs);
    await this.close();
    if (deadline) clearTimeout(deadline);
  }

  get taken(): number {
    return this.#running;
  }

  get wantsMore(): boolean {
    return !this.#mainLoop.drained;
  }

  /** Counts up whenever a job is begun, or comes to its end. */
  get steps(): number {
    return this.#steps;
  }

  takeMore(): void {
    const before = this.concurrency;
    this.#fetchOneAhead();
    if (this.concurrency > before) this.#mainLoop.mainLoopQueue?.add(Promise.resolve());
  }

  /**
   * What a job's end brings along begins at once: BullMQ's loop would come to it when it is done with
   * fetching others. While the loop waits to be woken there is nothing that could be brought along.
   */
  override async processJob(job: Job<Data>, token: string, mayFetchNext = () => true): Promise<void> {
    const mayFetch = () =>
      mayFetchNext() && this.#running <= this.#capacity.limitOf(this) && this.#mainLoop.waiting === null;
    this.#running += 1;
    this.#fetchOneAhead();
    try {
      let next = await super.processJob(job, token, mayFetch);
      while (next) next = await super.processJob(next, next.token ?? token, mayFetch);
    } finally {
      this.#running -= 1;
      this.#fetchOneAhead();
      this.#capacity.tellOthers(this);
    }
  }

  /**
   * By itself BullMQ learns that nothing more waits from a fetch that comes back empty, and wakes somebody
   * for each job that it fetches: three round trips for a job that comes alone.
   */
  protected override async moveToActive(token: string, name?: string): Promise<Job<Data>> {
    const rest = this.#restWhenDrained();
    const job = await super.moveToActive(token, name);
    const nextDueAt = await rest;
    if (job !== undefined && nextDueAt !== undefined) {
      this.#mainLoop.drained = true;
      this.#mainLoop.blockUntil = nextDueAt;
    }
    if (!this.wantsMore) this.#capacity.tellOthers(this);
    return job;
  }

  override async extendJobLocks(jobIds: string[], tokens: string[], durationMs: number): Promise<string[]> {
    const pairs = jobIds.flatMap((jobId, i) => [jobId, tokens[i] ?? '']);
    const args = [this.#keys.base, durationMs, ...pairs];
    return lostSchema.parse(await EXTEND_LOCKS(this.#redis, [this.#keys.stalled], args));
  }

  override async close(force?: boolean): Promise<void> {
    this.#redis.off('ready', this.#onConnected);
    await super.close(force);
    this.#capacity.leave(this);
  }

  protected override async callProcessJob(
    job: Job<Data>,
    token: string,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const jobId = job.id ?? '';
    // Another worker may be at it: this one leaves it alone, and takes the next one.
    if (this.#givenBack.delete(givenBackKey(jobId, token))) throw new DelayedError();
    this.#underWay.add(jobId);
    this.#steps += 1;
    try {
      return await super.callProcessJob(job, token, signal);
    } finally {
      this.#steps += 1;
      this.#underWay.delete(jobId);
    }
  }

  protected override createJob(json: JobJson, jobId: string): Job<Data> {
    const job = this.#read(json, jobId);
    job.opts.backoff ??= OUR_BACKOFF;
    // Producers set these for queues of their own. Here the one would take away what nobody has seen; the
    // other would leave what was done, with its payload, where no retention and no erasure looks for it.
    if (job.opts.removeOnFail !== undefined) delete job.opts.removeOnFail;
    if (job.opts.removeOnComplete !== undefined) delete job.opts.removeOnComplete;
    return job;
  }

  // By itself BullMQ would drop such a job, find it again when its lock has expired, for ever.
  #read(json: JobJson, jobId: string): Job<Data> {
    try {
      return super.createJob(json, jobId);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const deferredFailure = `Its data is not JSON: ${error.message}`;
      return super.createJob({ ...json, data: '{}', deferredFailure }, jobId);
    }
  }

  // BullMQ's loop fetches all that it may take, one round trip after the other, before it begins with one.
  #fetchOneAhead(): void {
    this.concurrency = Math.max(Math.min(this.#running + 1, this.#capacity.limitOf(this)), 1);
  }

  /**
   * BullMQ makes a connection anew that has waited for too long: it closes it, waits for its end without a
   * bound, and opens it again. `connect()` comes to an end and the connection comes back, but a client that
   * breaks just before it is closed may never say that it has ended. What fetches next waits for Redis as
   * long as it takes.
   */
  #neverWaitInVain(): void {
    const loop = this.#mainLoop;
    const waitForJob = loop.waitForJob.bind(this);
    loop.waitForJob = async (blockUntil) =>
      (await answerWithin(WOKEN_WITHIN_MS, waitForJob(blockUntil))) ?? 0;
  }

  get #mainLoop(): MainLoop {
    return this as unknown as MainLoop;
  }

  /** When the next delayed job is due, or 0; `undefined` if there is something to fetch, or not known. */
  async #restWhenDrained(): Promise<number | undefined> {
    // Behind the fetch that goes out in this turn of the event loop.
    await immediate();
    const { wait: waiting, prioritized, delayed, marker } = this.#keys;
    try {
      const nextDueAt = await REST_WHEN_DRAINED(this.#redis, [waiting, prioritized, delayed, marker], []);
      return nextDueAt === null ? undefined : Number(nextDueAt);
    } catch {
      // The fetch fails too, or the next one, and tells why.
      return undefined;
    }
  }

  readonly #onConnected = (): void => {
    this.#giveLostBack().catch((error: unknown) => {
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    });
  };

  /**
   * Redis may have made a job ours in a response that a broken connection has swallowed. No other worker
   * would have it before its lock has expired.
   */
  async #giveLostBack(): Promise<void> {
    const suspects = await this.#fetchedElsewhere();
    if (suspects.size === 0) return;
    // A response of the new connection may be on its way still.
    await wait(ARRIVAL_MS);
    for (const [jobId, token] of await this.#fetchedElsewhere()) {
      if (suspects.get(jobId) === token && !this.closing) await this.#giveBack(jobId, token);
    }
  }

  /** Jobs that are ours according to Redis, and that we know nothing of, with the tokens of their fetch. */
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
    const job = await Job.fromId<Data>(this, jobId);
    await job?.moveToWait(token);
    // BullMQ wakes nobody for a job with a priority that is put back.
    await this.#redis.zadd(this.#keys.marker, 0, '0');
  }
}

function givenBackKey(jobId: string, token: string): string {
  return `${token} ${jobId}`;
}

/** One of those that take jobs by the same capacity. */
export interface Sharer {
  /** Its jobs that are under way. */
  readonly taken: number;
  /** Whether there may be more for it to take. */
  readonly wantsMore: boolean;
  /** To be called when others may have left it room. */
  takeMore(): void;
}

/**
 * How many jobs may be under way in this process, whichever of several queues they are from. What one does
 * not use is the others'; of what is short, each that wants more has an equal part. One at least each may
 * always have, so that there can be more by as many as there are queues, less one.
 */
export class SharedCapacity {
  readonly #sharers = new Set<Sharer>();

  constructor(private capacity: number) {}

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
  }

  leave(sharer: Sharer): void {
    this.#sharers.delete(sharer);
    this.tellOthers(sharer);
  }

  /** How many there may be from now on. */
  setCapacity(capacity: number): void {
    this.capacity = capacity;
    for (const sharer of this.#sharers) sharer.takeMore();
  }

  /** How many jobs of one may be under way, as things stand. */
  limitOf(sharer: Sharer): number {
    const others = [...this.#sharers].filter((one) => one !== sharer);
    const share = Math.floor(this.capacity / (1 + others.filter(({ wantsMore }) => wantsMore).length));
    const kept = others.reduce(
      (sum, { taken, wantsMore }) => sum + (wantsMore ? Math.max(taken, share) : taken),
      0,
    );
    return Math.max(this.capacity - kept, 1);
  }

  /** That one has fewer jobs under way than before, or no more to take. */
  tellOthers(sharer: Sharer): void {
    for (const other of this.#sharers) if (other !== sharer) other.takeMore();
  }
}

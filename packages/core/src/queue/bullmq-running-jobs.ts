import type { JobJson } from 'bullmq';
import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import type { DeliveryTexts, JobEnd } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { defineGuard, defineScript, inLua, type ScriptTarget, ScriptUnit } from '../platform/redis-script';
import { createJobKeys, DELAYED_SCORE, type JobKeys, jobFields, PRIORITY_SCORE } from './bullmq-layout';

/** A job that a worker has locked. */
export interface LockedJob {
  readonly jobId: string;
  /** What it is locked with. */
  readonly token: string;
}

/** BullMQ's form of a stored job. One that runs has no value to return yet. */
export type StoredJob = Omit<JobJson, 'returnvalue'>;

/** What a worker gets when it asks for its next job. */
export interface Taken {
  /** Absent: nothing waits. */
  readonly job?: TakenJob;
  /** Whether more jobs wait. */
  readonly areMoreWaiting: boolean;
  /** When the first delayed job is due. Milliseconds since the Unix epoch; 0 if there is none. */
  readonly nextDueAt: number;
}

export interface TakenJob extends LockedJob {
  readonly json: StoredJob;
  /** As its field has them. Absent: it was not held. */
  readonly holds: string | undefined;
  /** Absent in a Cluster, where they are on other nodes. */
  readonly texts: DeliveryTexts | undefined;
}

// Those of the jobs of deliveries.
const NEW_JOB_FIELDS = [
  jobFields.attemptsStarted,
  jobFields.name,
  jobFields.data,
  'opts',
  jobFields.timestamp,
  'delay',
  'priority',
] as const;
// Only a job that ran before has them: a field that is missing costs Redis the most.
const OLD_JOB_FIELDS = [
  jobFields.attemptsMade,
  jobFields.stalledCount,
  'defa',
  jobFields.failedReason,
  'stacktrace',
  jobFields.holds,
] as const;

const account = '<account>' as AccountId;
const endpoint = '<endpoint>' as EndpointId;
const event = '<event>' as EventId;

// What the attempt needs is read along with the job. Its texts are given once for all jobs of a script: an
// endpoint's deliveries come together, and so do those of an event. 0 stands for an event that the worker
// knows.
export const READ_ALONG = `
  local function read_once(command, key, ...)
    local name = table.concat({key, ...}, ' ')
    if once[name] == nil then
      local text = redis.call(command, key, ...)
      once[name] = text and shared(text)
    end
    return once[name]
  end

  local function read_along(job, data, known)
    local event, endpoint = string.match(job, '^(.*)%.([^.]*)$')
    local account = string.match(data or '', '"account_id":"([%w_-]+)"')
    if not event or not account then return false end
    local texts = redis.call('MGET', ${inLua(keys.delivery(endpoint, event))}, ${inLua(keys.breaker(endpoint))})
    texts[3] = read_once('HGET', ${inLua(keys.endpoints(account))}, endpoint)
    texts[4] = event == known and 0 or read_once('GET', ${inLua(keys.event(account, event))})
    return texts
  end`;

// Delayed jobs that are overdue are put back with the priority that they had: `DueDeliveries` puts them back
// before.
const PUT_BACK_OVERDUE = `
  local function put_back_overdue(base, now, wait, prioritized, counter, delayed)
    local until_score = (tonumber(now) + 1) * ${DELAYED_SCORE} - 1
    for _, job in ipairs(redis.call('ZRANGEBYSCORE', delayed, 0, until_score, 'LIMIT', 0, 1000)) do
      redis.call('ZREM', delayed, job)
      redis.call('HSET', base .. job, 'delay', 0)
      local priority = tonumber(redis.call('HGET', base .. job, 'priority')) or 0
      if priority == 0 then
        redis.call('LPUSH', wait, job)
      else
        local count = redis.call('INCR', counter)
        redis.call('ZADD', prioritized, priority * ${PRIORITY_SCORE} + count % ${PRIORITY_SCORE}, job)
      end
    end
  end`;

// As BullMQ's own moveToActive: without its rate limiter, which nothing here sets, and without entries in
// its stream of events, which nobody reads. Jobs without a priority come first. Workers that rest are woken
// if more jobs wait in the end: scripts of the same turn may add some after the last one was taken. KEYS:
// wait, prioritized, priority counter, active, delayed, meta, marker. ARGV: prefix of the jobs' keys, now,
// token, how long the lock holds, the event that the worker knows, 1 to read along what the job needs.
const TAKE = defineScript(
  `
  local wait, prioritized, counter, active, delayed, meta, marker = unpack(KEYS)
  local base, now = ARGV[1], ARGV[2]
  local queue = once[base]
  if not queue then
    local limits = redis.call('HMGET', meta, 'paused', 'concurrency')
    queue = {is_paused = limits[1], most_active = tonumber(limits[2])}
    once[base] = queue
    put_back_overdue(base, now, wait, prioritized, counter, delayed)
    queue.unsorted, queue.sorted = redis.call('LLEN', wait), redis.call('ZCARD', prioritized)
  end
  if queue.is_paused or (queue.most_active and redis.call('LLEN', active) >= queue.most_active) then
    return {false, 0, 0}
  end
  local job
  if queue.unsorted > 0 then
    job = redis.call('RPOPLPUSH', wait, active)
    queue.unsorted = queue.unsorted - 1
  end
  if not job then
    job = redis.call('ZPOPMIN', prioritized)[1]
    queue.sorted = queue.sorted - 1
    if job then redis.call('LPUSH', active, job) end
  end
  local more = (queue.unsorted > 0 or queue.sorted > 0) and 1 or 0
  at_end('marker ' .. base, function()
    local waits = redis.call('EXISTS', wait, prioritized) > 0
    if waits then redis.call('ZADD', marker, 0, '0') else redis.call('ZREM', marker, '0') end
  end)
  local next_due = 0
  if more == 0 then
    local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
    next_due = first and math.floor(tonumber(first) / ${DELAYED_SCORE}) or 0
  end
  if not job then
    redis.call('DEL', counter)
    return {false, 0, next_due}
  end
  redis.call('SET', base .. job .. ':lock', ARGV[3], 'PX', ARGV[4])
  local fields = redis.call('HMGET', base .. job, '${NEW_JOB_FIELDS.join("', '")}')
  local started = (tonumber(fields[1]) or 0) + 1
  redis.call('HSET', base .. job, 'processedOn', now, '${jobFields.attemptsStarted}', started)
  fields[1] = started
  local of_old = started > 1 and redis.call('HMGET', base .. job, '${OLD_JOB_FIELDS.join("', '")}')
  return {job, more, next_due, fields, ARGV[6] == '1' and read_along(job, fields[3], ARGV[5]), of_old}`,
  READ_ALONG,
  PUT_BACK_OVERDUE,
);

// Gives those of some jobs that are still the worker's; they are not active any more. `jobs` has the id and the token of
// each, from a place on.
const LET_GO = `
  local function let_go(base, active, stalled, jobs, from)
    local locks, ours = {}, {}
    for i = from, #jobs, 2 do locks[#locks + 1] = base .. jobs[i] .. ':lock' end
    for i, holder in ipairs(redis.call('MGET', unpack(locks))) do
      local id, token = jobs[from + 2 * i - 2], jobs[from + 2 * i - 1]
      if holder == token then
        ours[#ours + 1] = id
        redis.call('LREM', active, -1, id)
      end
    end
    if #ours > 0 then redis.call('SREM', stalled, unpack(ours)) end
    return ours
  end`;

// As BullMQ's own moveToFinished for jobs that are removed at their end. KEYS: active, stalled. ARGV: prefix of the
// jobs' keys, then the id and the token of each. Gives how many were still the worker's.
const END = defineGuard(
  `
  local base, gone = ARGV[1], {}
  local ours = let_go(base, KEYS[1], KEYS[2], ARGV, 2)
  if #ours == 0 then return 0 end
  for _, id in ipairs(ours) do
    gone[#gone + 1] = base .. id
    gone[#gone + 1] = base .. id .. ':lock'
  end
  redis.call('DEL', unpack(gone))
  return #ours`,
  LET_GO,
);

// As BullMQ's own moveToDelayed. KEYS: active, stalled, delayed, wait, prioritized, marker. ARGV: prefix of the jobs'
// keys, when they are due, the delay, why their attempts failed ('': there were none), then the id and the token of each.
// Gives how many were still the worker's.
const DELAY = defineGuard(
  `
  local active, stalled, delayed, wait, prioritized, marker = unpack(KEYS)
  local base, due_at, delay, failure = unpack(ARGV)
  local ours = let_go(base, active, stalled, ARGV, 5)
  local lowest = tonumber(due_at) * ${DELAYED_SCORE}
  local highest = lowest + ${DELAYED_SCORE} - 1
  for _, id in ipairs(ours) do
    local job = base .. id
    redis.call('DEL', job .. ':lock')
    if redis.call('EXISTS', job) == 1 then
      redis.call('HSET', job, 'delay', delay)
      if failure ~= '' then
        redis.call('HSET', job, '${jobFields.failedReason}', failure)
        redis.call('HINCRBY', job, '${jobFields.attemptsMade}', 1)
      end
      local last = redis.call('ZREVRANGEBYSCORE', delayed, highest, lowest, 'WITHSCORES', 'LIMIT', 0, 1)[2]
      redis.call('ZADD', delayed, last and math.min(tonumber(last) + 1, highest) or lowest, id)
    end
  end
  if #ours > 0 and redis.call('EXISTS', wait, prioritized) == 0 then
    local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
    if first then redis.call('ZADD', marker, tonumber(first) / ${DELAYED_SCORE}, '1') end
  end
  return #ours`,
  LET_GO,
);

// KEYS: lock, stalled. ARGV: job, token, how long the lock holds from now on.
const KEEP = defineScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('SREM', KEYS[2], ARGV[1])
  return 1`);

/**
 * The jobs of deliveries that a worker runs: how it takes them, and lets go of them. Each is a step, so that
 * a record, the end of its job and the start of the next one can be one script.
 */
export class RunningJobs {
  readonly #keys: JobKeys;
  readonly #takeKeys: readonly string[];
  readonly #readsAlong: boolean;

  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
    private readonly clock: Clock = systemClock,
  ) {
    const jobKeys = createJobKeys(prefix, DELIVERIES_QUEUE);
    const { wait, prioritized, priorityCounter, active, delayed, meta, marker } = jobKeys;
    this.#keys = jobKeys;
    this.#takeKeys = [wait, prioritized, priorityCounter, active, delayed, meta, marker];
    this.#readsAlong = !(redis instanceof Cluster);
  }

  /**
   * Take the job that is next, and lock it.
   *
   * @param known an event that this process has read a moment ago.
   */
  async take(target: ScriptTarget, token: string, known: EventId | '' = ''): Promise<Taken> {
    const readAt = steadyClock();
    const readsAlong = this.#readsAlong && target instanceof ScriptUnit ? 1 : 0;
    const now = this.clock();
    const args = [this.#keys.base, now, token, this.lockDurationMs, known, readsAlong];
    const reply = (await TAKE(target, this.#takeKeys, args)) as TakeReply;
    const [jobId, more, nextDueAt, fields, stored, ofOld] = reply;
    if (jobId === null || fields === undefined) return { areMoreWaiting: false, nextDueAt };
    const texts = stored ? textsOf(stored, target, readAt) : undefined;
    const json = jobOf(jobId, now, fields, ofOld ?? []);
    const job = { jobId, token, json, holds: ofOld?.at(-1) ?? undefined, texts };
    return { job, areMoreWaiting: more > 0, nextDueAt };
  }

  /** Give whether a job is still this worker's; if so, its lock holds for its full time again. */
  async keep(target: ScriptTarget, { jobId, token }: LockedJob): Promise<boolean> {
    const { lock, stalled } = this.#keys;
    return (await KEEP(target, [lock(jobId), stalled], [jobId, token, this.lockDurationMs])) === 1;
  }

  /**
   * Let go of jobs. A guard: what comes after it runs only if one of them was still this worker's. Those that are not
   * stay as they are.
   */
  async end(target: ScriptTarget, jobs: readonly LockedJob[], end: JobEnd): Promise<void> {
    const { base, active, stalled, delayed, wait, prioritized, marker } = this.#keys;
    const each = jobs.flatMap(({ jobId, token }) => [jobId, token]);
    if (end.kind === 'done') return void (await END(target, [active, stalled], [base, ...each]));
    const { delayMs, failure = '' } = end;
    const args = [base, this.clock() + delayMs, delayMs, failure, ...each];
    await DELAY(target, [active, stalled, delayed, wait, prioritized, marker], args);
  }
}

type TakeReply = readonly [
  jobId: string | null,
  more: number,
  nextDueAt: number,
  fields?: FieldsOf<typeof NEW_JOB_FIELDS>,
  texts?: StoredTexts | null,
  ofOld?: FieldsOf<typeof OLD_JOB_FIELDS> | null,
];

type FieldsOf<Names extends readonly unknown[]> = { readonly [Index in keyof Names]: string | null };

// As BullMQ reads a job, as far as the jobs of deliveries use what it has.
function jobOf(
  jobId: string,
  processedOn: number,
  [started, name, data, opts, timestamp, delay, priority]: FieldsOf<typeof NEW_JOB_FIELDS>,
  ofOld: FieldsOf<typeof OLD_JOB_FIELDS> | readonly [],
): StoredJob {
  const [made = null, stalled = null, deferredFailure = null, failedReason = null, stacktrace = null] = ofOld;
  return {
    id: jobId,
    name: name ?? '',
    data: data ?? '{}',
    opts: parsedOrUndefined(opts ?? '') ?? {},
    progress: 0,
    timestamp: Number(timestamp),
    delay: Number(delay),
    priority: Number(priority),
    processedOn,
    attemptsStarted: Number(started),
    attemptsMade: Number(made),
    stalledCounter: Number(stalled),
    failedReason: failedReason ?? '',
    ...(deferredFailure === null ? {} : { deferredFailure }),
    ...(stacktrace === null ? {} : { stacktrace }),
  };
}

export type StoredTexts = readonly [
  log: string | null,
  breaker: string | null,
  endpoint: number | null,
  event: number | null,
];

export function textsOf(
  [log, breaker, endpointNumber, eventNumber]: StoredTexts,
  target: ScriptTarget,
  readAt: number,
): DeliveryTexts {
  return {
    log,
    breaker,
    endpoint: textIn(target, endpointNumber),
    event: eventNumber === 0 ? undefined : textIn(target, eventNumber),
    readAt,
  };
}

/** A text that a script has shared. */
export function textIn(target: ScriptTarget, number: number | null): string | null {
  const texts = target instanceof ScriptUnit ? target.texts : [];
  return number === null ? null : (texts[number - 1] ?? null);
}

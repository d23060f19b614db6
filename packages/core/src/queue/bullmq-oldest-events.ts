import { eventJobId } from '@hookferry/producer/contract';
import type { AccountId } from '../domain/account';
import type { AcceptedEvent } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { defineGuard, type Step } from '../platform/redis-script';
import { shardsOfAccount } from './bullmq-event-queue';
import { createJobKeys, jobFields, PRIORITY_SCORE } from './bullmq-layout';
import { PerShard } from './per-shard';

// How many waiting jobs are read, from the end that is taken next. More than all workers together can have
// running, as a crash brings those out of order.
const WAITING_LOOKED_AT = 500;
// From the last one that was put back. An entry is removed when its job is done, so this is for removed jobs.
const PUT_BACK_KEPT_MS = 86_400_000;

/*
 * Relies on where BullMQ 6 keeps an unfinished job. It is in `active` while a worker has it. It is at the
 * right end of `wait`, to be taken next, when its worker died or gave it back. It is at the left end when it
 * is new, or when its delay is over. So old jobs are at the right, except those that were put back with a
 * delay, which this file notes itself. A job that failed for good does not come back by itself: nothing waits
 * for it. A paused queue keeps its jobs in `wait`. Jobs in the fair order, and those that producers add with
 * a priority, are in `prioritized`. There an account's own jobs keep their order, so the first of them speaks
 * for all. If none of them is among the jobs that are read, the fair order knows whether there are some. A
 * job that a producer has delayed is not published before its time.
 *
 * The product's own job ids tell account and order. Any other job counts by the time when it was added, and the same
 * millisecond counts as older. Its account is noted as it gets its position. A few wait without a position, for a moment:
 * they count for every account, and so do those whose account is not certain.
 */
// KEYS: active, wait, prioritized, the account's put back, failed, the fair order's state. ARGV: prefix of the jobs' keys,
// account, event, time of acceptance, the event's job, how many to read. Gives 0 if there is an older one.
const IS_OLDEST = defineGuard(`
  if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) == 0 then return 1 end
  local prefix, account, event, accepted_at, own_job = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
  local event_form = '(evt_' .. string.rep('[0-9a-z]', 22) .. ')$'
  local can_compare = string.match(event, '^' .. event_form) ~= nil

  local function is_older(job, of_any_account)
    if job == own_job then return false end
    local its_account, its_event = string.match(job, '^(.+)%.' .. event_form)
    if its_event and its_account ~= account and not of_any_account then return false end
    if its_event and can_compare then return its_event < event end
    local added_at, noted = unpack(redis.call('HMGET', prefix .. job, 'timestamp', '${jobFields.account}'))
    local is_anothers = noted and noted ~= '' and noted ~= account
    if is_anothers and not of_any_account then return false end
    return added_at ~= false and tonumber(added_at) <= accepted_at
  end
  local function has_older(jobs)
    for _, job in ipairs(jobs) do
      if is_older(job, false) then return true end
    end
    return false
  end

  local function has_own(jobs)
    for _, job in ipairs(jobs) do
      if string.match(job, '^(.+)%.' .. event_form) == account then return true end
    end
    return false
  end

  if has_older(redis.call('LRANGE', KEYS[1], 0, -1)) then return 0 end
  local limit = tonumber(ARGV[6])
  local waiting = redis.call('LRANGE', KEYS[2], -limit, -1)
  if has_older(waiting) then return 0 end
  if #waiting == limit and is_older(waiting[1], true) then return 0 end
  local sorted = redis.call('ZRANGE', KEYS[3], 0, limit - 1)
  if has_older(sorted) then return 0 end
  if #sorted == limit and not has_own(sorted) then
    local last = redis.call('ZSCORE', KEYS[6] .. ':' .. account, '*')
    local head = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
    local now = tonumber(redis.call('HGET', KEYS[6], 'base') or '0') + math.floor(tonumber(head[2]) / ${PRIORITY_SCORE}) - 1
    if last and tonumber(last) >= now then return 0 end
  end
  for _, job in ipairs(redis.call('ZRANGE', KEYS[4], 0, limit - 1)) do
    local comes_back = redis.call('EXISTS', prefix .. job) == 1 and not redis.call('ZSCORE', KEYS[5], job)
    if comes_back and is_older(job, false) then return 0 end
  end
  return 1`);

export interface PutBackJob {
  readonly id: string;
  /** Absent: it names none, and no account waits for it. */
  readonly accountId: AccountId | undefined;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
}

type AskedEvent = Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt'>;

/** The events of any shard that are not fanned out yet, for deliveries in the order of acceptance. */
export class OldestEvents {
  readonly #shards = new PerShard(openShard);

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {}

  /** Whether an event of the account that was accepted before this one may still bring deliveries. */
  async hasOlder(event: AskedEvent): Promise<boolean> {
    const asked = this.guardsOldest(event).map((guard) => guard(this.redis));
    return (await Promise.all(asked)).includes(0);
  }

  /** Guards: what comes after them runs only if there is no such event. */
  guardsOldest({ accountId, id, acceptedAt }: AskedEvent): readonly Step[] {
    const args = [accountId, id, acceptedAt, eventJobId(accountId, id), WAITING_LOOKED_AT];
    return this.#shards.inEach(shardsOfAccount(this.shards, accountId)).map(
      ({ base, scriptKeysOf }): Step =>
        (target) =>
          IS_OLDEST(target, scriptKeysOf(accountId), [base, ...args]),
    );
  }

  /** Call it before an event's job is put back with a delay. */
  async notePutBack(shard: QueueShard, { id, accountId, addedAt }: PutBackJob): Promise<void> {
    if (accountId === undefined) return;
    const putBack = this.#shards.in(shard).putBackOf(accountId);
    await Promise.all([this.redis.zadd(putBack, addedAt, id), this.redis.pexpire(putBack, PUT_BACK_KEPT_MS)]);
  }

  /** Call it once such a job is done. */
  async forgetPutBack(shard: QueueShard, { id, accountId }: Omit<PutBackJob, 'addedAt'>): Promise<void> {
    if (accountId !== undefined) await this.redis.zrem(this.#shards.in(shard).putBackOf(accountId), id);
  }
}

function openShard(prefix: string) {
  const { base, active, wait, prioritized, failed } = createJobKeys(prefix, EVENTS_QUEUE);
  const { putBackEvents: putBackOf, fairOrder } = queueKeysOf(prefix);
  const scriptKeysOf = (accountId: AccountId) => [
    active,
    wait,
    prioritized,
    putBackOf(accountId),
    failed,
    fairOrder(EVENTS_QUEUE),
  ];
  return { base, putBackOf, scriptKeysOf };
}

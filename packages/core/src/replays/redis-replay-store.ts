import { newFields } from '../audit/field-changes';
import { defineChange, type Recorded } from '../audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import {
  hasEnded,
  NOT_BEGUN,
  type Replay,
  type ReplayId,
  type ReplayOrder,
  type ReplayProgress,
  replayEndStatuses,
  replayOrderSchema,
  replayProgressSchema,
} from '../domain/replay';
import { type NoteUsage, REPLAY_BYTES } from '../domain/usage';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { idOfMember, readNewestFirst, timedMember } from '../platform/redis-timeline';

export interface ReplayPage {
  /** Newest first. */
  readonly replays: readonly Replay[];
  readonly nextCursor: string | undefined;
}

// A replay that has ended never changes: a worker in the middle of a step does not undo a cancellation. KEYS:
// replay. ARGV: its status, its progress, how long to keep it, the ends.
const PROGRESS = defineChange(
  '1',
  `
  local status = redis.call('HGET', KEYS[1], 'status')
  if not status then return 0 end
  for i = 4, 3 + ${replayEndStatuses.length} do
    if status == ARGV[i] then return 0 end
  end
  redis.call('HSET', KEYS[1], 'status', ARGV[1], 'progress', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  record_act()
  return 1`,
);

// KEYS: running replays. ARGV: the replay, now, the limit, how long to keep it.
const ADMIT = defineChange(
  '1',
  `
  if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
    record_act()
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return 1`,
);

/** An admitted replay is recorded a moment later, if at all. */
const NOT_YET_ON_RECORD_MS = 10_000;

/** Replays with their progress, and each endpoint's list of them. */
export class ReplayStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
    /** Counts a replay that was created. */
    private readonly noteUsage: NoteUsage = () => {},
  ) {}

  async find(id: ReplayId): Promise<Replay | undefined> {
    const [order, progress] = await this.redis.hmget(keys.replay(id), 'order', 'progress');
    if (!order || !progress) return undefined;
    return {
      ...replayOrderSchema.parse(JSON.parse(order)),
      ...replayProgressSchema.parse(JSON.parse(progress)),
    };
  }

  async list(endpointId: EndpointId, limit: number, before?: string): Promise<ReplayPage> {
    const page = await readNewestFirst(this.redis, keys.replays(endpointId), limit, before);
    const replays = await Promise.all(
      page.members.map((member) => this.find(idOfMember(member) as ReplayId)),
    );
    return {
      replays: replays.filter((replay) => replay !== undefined),
      nextCursor: page.nextCursor,
    };
  }

  /**
   * Give whether it is among the `most` replays of its account that may run. Repeating it changes nothing.
   *
   * @param act absent: it is on no record. Likewise below.
   */
  async admit(order: ReplayOrder, most: number, now: number, act?: Act): Promise<boolean> {
    const key = keys.runningReplays(order.accountId);
    const { id, accountId } = order;
    const recorded = act && { act, accountId, targetId: id, changes: newFields(factsOf(order)) };
    const args = [id, now, most, this.retentionMs];
    const isAdmitted = (await ADMIT(this.redis, [key], args, recorded)) === 1;
    if (isAdmitted) return true;
    return (await this.#dropEnded(order.accountId, now)) && (await this.admit(order, most, now, act));
  }

  // An ended replay stays on the list. Only when the list is full, the next request removes the ended ones.
  async #dropEnded(accountId: AccountId, now: number): Promise<boolean> {
    const key = keys.runningReplays(accountId);
    const flat = await this.redis.zrange(key, '0', '-1', 'WITHSCORES');
    const ids = flat.filter((_, i) => i % 2 === 0) as ReplayId[];
    const replays = await Promise.all(ids.map((id) => this.find(id)));
    const ended = ids.filter((_, i) => {
      const replay = replays[i];
      return replay ? hasEnded(replay) : Number(flat[2 * i + 1]) < now - NOT_YET_ON_RECORD_MS;
    });
    if (ended.length > 0) await this.redis.zrem(key, ...ended);
    return ended.length > 0;
  }

  /** Creating it again changes nothing. */
  async create(order: ReplayOrder): Promise<void> {
    const { id, endpointId, createdAt } = order;
    const { redis, retentionMs } = this;
    const key = keys.replay(id);
    const listKey = keys.replays(endpointId);
    await Promise.all([
      redis.hsetnx(key, 'progress', JSON.stringify(NOT_BEGUN)),
      redis.hsetnx(key, 'status', NOT_BEGUN.status),
      redis.hsetnx(key, 'order', JSON.stringify(order)),
      redis.pexpire(key, retentionMs),
      redis.zadd(listKey, 0, timedMember(createdAt, id)),
      redis.pexpire(listKey, retentionMs),
    ]);
    this.noteUsage(order.accountId, 'replays', REPLAY_BYTES);
  }

  /** Give whether it was saved: not if the replay has ended meanwhile. */
  async save(id: ReplayId, progress: ReplayProgress, recorded?: Recorded): Promise<boolean> {
    const { redis, retentionMs } = this;
    const args = [progress.status, JSON.stringify(progress), String(retentionMs), ...replayEndStatuses];
    return (await PROGRESS(redis, [keys.replay(id)], args, recorded)) === 1;
  }
}

function factsOf({ endpointId, mode, since, until, rate, isDryRun }: ReplayOrder) {
  const range = { since: formatTime(since), until: formatTime(until) };
  return { webhookId: endpointId, mode, ...range, rate, dryRun: isDryRun };
}

import { newFields } from '../accounts/audit/field-changes';
import { makeChange, type Recorded } from '../accounts/audit/redis-recorded-change';
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
  replayOrderSchema,
  replayProgressSchema,
} from '../domain/replay';
import { type NoteUsage, REPLAY_BYTES, REPLAYED_BYTES } from '../domain/usage';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import {
  idOfMember,
  type Mark,
  readNewestFirst,
  readTimeline,
  timedMember,
} from '../platform/redis-timeline';
import { admitReplay, saveProgress } from './redis-replay-store.script';

export interface ReplayPage {
  /** Newest first. */
  readonly replays: readonly Replay[];
  readonly nextCursor: string | undefined;
}

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
    const { id, accountId } = order;
    const recorded = act && { act, accountId, targetId: id, changes: newFields(factsOf(order)) };
    const admitted = admitReplay({ account: accountId, id, now, most, keptMs: this.retentionMs });
    if (await makeChange(this.redis, admitted, recorded)) return true;
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

  /** Note events that a replay has sent. Noting one again changes nothing. */
  async noteSent(
    { id, accountId }: Pick<ReplayOrder, 'id' | 'accountId'>,
    sent: readonly Mark[],
  ): Promise<void> {
    if (sent.length === 0) return;
    const key = keys.replayed(id);
    const added = await this.redis.zadd(key, ...sent.flatMap(({ id: event, at }) => [at, event]));
    await this.redis.pexpire(key, this.retentionMs);
    if (added > 0) this.noteUsage(accountId, 'replays', added * REPLAYED_BYTES);
  }

  /** The events that a replay has sent, those accepted last first. */
  async listSent(id: ReplayId, limit: number, after?: Mark): Promise<readonly Mark[]> {
    return await readTimeline(this.redis, keys.replayed(id), { order: 'newest_first', limit, after });
  }

  /** Give whether it was saved: not if the replay has ended meanwhile. */
  async save(id: ReplayId, progress: ReplayProgress, recorded?: Recorded): Promise<boolean> {
    const { status } = progress;
    const saved = saveProgress({ id, status, progress: JSON.stringify(progress), keptMs: this.retentionMs });
    return await makeChange(this.redis, saved, recorded);
  }
}

function factsOf({ endpointId, mode, since, until, rate, isDryRun }: ReplayOrder) {
  const range = { since: formatTime(since), until: formatTime(until) };
  return { webhookId: endpointId, mode, ...range, rate, dryRun: isDryRun };
}

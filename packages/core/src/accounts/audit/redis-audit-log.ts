import { Cluster } from 'ioredis';
import type { AccountId } from '../../domain/account';
import { type AuditBounds, type AuditEntry, auditEntrySchema, auditIdSchema } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { chunksOf } from '../../platform/batches';
import { decodeTime } from '../../platform/id-time';
import { parsedOrUndefined } from '../../platform/json';
import type { RedisClient } from '../../platform/redis-connect';
import { forgetRefusalsOf } from './redis-audit-entries.script';
import { recordAlone } from './redis-audit-log.script';
import { makeChange, oldestId, putIntoLog, type Recorded } from './redis-recorded-change';

/** Newest first. */
export interface AuditWindow {
  /** Before the entry with this id. */
  readonly before?: string | undefined;
  /** From this time on, and before that one. Milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** A part of a log. */
export interface AuditPart {
  readonly entries: readonly AuditEntry[];
  /** Where the next one begins; `undefined`: there is none. */
  readonly nextBefore: string | undefined;
}

/** An entry in the index of all logs. */
export interface IndexedEntry {
  /** Of the index. */
  readonly member: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Absent: its change was not made, or is just being made, or it is not kept any more. */
  readonly entry: AuditEntry | undefined;
}

const ID_LENGTH = 26;

const REMOVED_AT_ONCE = 1_000;

/** The audit log as far as it is in Redis. Changes append to it themselves: see `defineChange`. */
export class AuditLog {
  /** Whether an entry may be on another node than its change. */
  readonly isSpread: boolean;

  constructor(private readonly redis: RedisClient) {
    this.isSpread = redis instanceof Cluster;
  }

  /** Record an act that changes nothing, or whose steps come after its record. */
  async record(recorded: Recorded): Promise<void> {
    await makeChange(this.redis, recordAlone({ account: recorded.accountId }), recorded);
  }

  /** What was done in the account. */
  async listDone(accountId: AccountId, window: AuditWindow, limit: number): Promise<AuditPart> {
    return await this.#listLog(keys.auditLog(accountId), window, limit);
  }

  /** What was refused there; of `everybody`: also what was refused to those who belong to no account. */
  async listRefused(of: AccountId | 'everybody', window: AuditWindow, limit: number): Promise<AuditPart> {
    const key = of === 'everybody' ? keys.allAuditRefusals : keys.auditRefusals(of);
    return await this.#listLog(key, window, limit);
  }

  /** What was done in all accounts. */
  async listAllDone(window: AuditWindow, limit: number): Promise<AuditPart> {
    const [max, min] = boundsOf(window);
    const members = await this.redis.zrevrangebylex(keys.auditIndex, max, min, 'LIMIT', 0, limit);
    const found = await Promise.all(members.map((member) => this.#findIndexed(member)));
    return partOf(
      found.flatMap(({ entry }) => entry ?? []),
      members,
      limit,
    );
  }

  /** The oldest of all accounts; `after` is the last member of those before. */
  async listOldest(limit: number, after?: string): Promise<readonly IndexedEntry[]> {
    const from = after === undefined ? '-' : `(${after}`;
    const members = await this.redis.zrangebylex(keys.auditIndex, from, '+', 'LIMIT', 0, limit);
    return await Promise.all(members.map((member) => this.#findIndexed(member)));
  }

  /** Those begun before a time (milliseconds since the Unix epoch) that may not be in their logs, the oldest first. */
  async listWaiting(until: number, limit: number, after?: string): Promise<readonly IndexedEntry[]> {
    const range = [after === undefined ? '-' : `(${after}`, `(${oldestId(until)}`] as const;
    const members = await this.redis.zrangebylex(keys.waitingAudits, ...range, 'LIMIT', 0, limit);
    return await Promise.all(members.map((member) => this.#findWaiting(member)));
  }

  /** Put an entry into its log. */
  async putIntoLog(member: string, entry: AuditEntry, bounds: AuditBounds): Promise<void> {
    await putIntoLog(this.redis, entry, bounds, tagOf(member));
  }

  /** Look no more for entries of changes that were not made, or that are in their logs already. */
  async forgetWaiting(members: readonly string[]): Promise<void> {
    if (members.length > 0) await this.redis.zrem(keys.waitingAudits, ...members);
  }

  /** Remove entries that are kept elsewhere now: from their logs, then from the index that leads there. */
  async forget(entries: readonly IndexedEntry[]): Promise<void> {
    await Promise.all(
      entries.map(async ({ member, entry }) => {
        if (!entry) return;
        const { id } = entry;
        await Promise.all(placesOf(member).map((key) => this.redis.zremrangebylex(key, `[${id}`, `[${id}~`)));
      }),
    );
    if (entries.length > 0) {
      await this.redis.zrem(keys.auditIndex, ...entries.map(({ member }) => member));
    }
  }

  /** Forget all of an account that is erased. */
  async remove(accountId: AccountId): Promise<void> {
    const members = await this.redis.zrange(keys.auditLog(accountId), 0, '-1');
    const indexed = members.map((member) => `${member.slice(0, ID_LENGTH)} ${accountId}`);
    for (const some of chunksOf(indexed, REMOVED_AT_ONCE)) await this.redis.zrem(keys.auditIndex, ...some);
    await this.redis.unlink(keys.auditLog(accountId));
    await this.redis.unlink(keys.auditRefusals(accountId));
    await forgetRefusalsOf({ account: accountId })(this.redis);
  }

  async #listLog(key: string, window: AuditWindow, limit: number): Promise<AuditPart> {
    const [max, min] = boundsOf(window);
    const members = await this.redis.zrevrangebylex(key, max, min, 'LIMIT', 0, limit);
    return partOf(members.flatMap(parseMember), members, limit);
  }

  async #findIndexed(member: string): Promise<IndexedEntry> {
    const id = member.slice(0, ID_LENGTH);
    const found = await Promise.all(placesOf(member).map((key) => this.#findIn(key, id)));
    return { member, at: timeOfId(id), entry: found.flat()[0] };
  }

  async #findWaiting(member: string): Promise<IndexedEntry> {
    const id = member.slice(0, ID_LENGTH);
    const [entry] = await this.#findIn(keys.waitingAudit(tagOf(member)), id);
    return { member, at: timeOfId(id), entry };
  }

  async #findIn(key: string, id: string): Promise<readonly AuditEntry[]> {
    const members = await this.redis.zrangebylex(key, `[${id}`, `[${id}~`, 'LIMIT', 0, 1);
    return members.flatMap(parseMember);
  }
}

function boundsOf({ before, since, until }: AuditWindow): readonly [max: string, min: string] {
  const latest = [before, until === undefined ? undefined : oldestId(until)].filter((id) => id !== undefined);
  const max = latest.toSorted()[0];
  return [max === undefined ? '+' : `(${max}`, since === undefined ? '-' : `[${oldestId(since)}`];
}

/** Its log, and where it waits before it is there, if it does. */
function placesOf(member: string): readonly string[] {
  const [, accountId = '', tag] = member.split(' ');
  const log = keys.auditLog(accountId as AccountId);
  return tag === undefined ? [log] : [log, keys.waitingAudit(tag)];
}

function tagOf(member: string): string {
  return member.split(' ')[2] ?? '';
}

function partOf(entries: readonly AuditEntry[], members: readonly string[], limit: number): AuditPart {
  const last = members.length < limit ? undefined : members.at(-1)?.slice(0, ID_LENGTH);
  return { entries, nextBefore: last };
}

function parseMember(member: string): readonly AuditEntry[] {
  const entry = auditEntrySchema.safeParse(parsedOrUndefined(member.slice(ID_LENGTH)));
  return entry.success && auditIdSchema.safeParse(member.slice(0, ID_LENGTH)).success ? [entry.data] : [];
}

const TIME_START = 'aud_'.length;

/** When the action was done. Milliseconds since the Unix epoch. */
export function timeOfId(id: string): number {
  return decodeTime(id.slice(TIME_START));
}

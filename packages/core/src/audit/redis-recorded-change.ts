import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import {
  type Act,
  AUDIT_ID_PREFIX,
  type AuditBounds,
  type AuditEntry,
  type FieldChange,
} from '../domain/audit';
import { keys } from '../domain/keys';
import { encodeTime } from '../platform/ids';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { boundChanges } from './field-changes';

/** An act with what only the change itself knows of it. */
export interface Recorded {
  readonly act: Act;
  /** Whose log the entry belongs to. */
  readonly accountId: AccountId;
  readonly targetId?: string | undefined;
  readonly changes?: readonly FieldChange[];
}

/** Run a change, with its record if it has one. Gives the reply of the script's body. */
export type RunChange = (
  redis: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
  recorded: Recorded | undefined,
) => Promise<unknown>;

/**
 * A script that makes a change, and appends its entry to the audit log: both, or neither of them, whenever the process or
 * Redis breaks off. Its body calls `record_act()` where it makes the change. A change that was made already, whose reply was
 * lost on the way, is not made again.
 *
 * @param made the reply of the body when it has made the change, as Lua.
 */
export function defineChange(made: string, body: string, ...libraries: readonly string[]): RunChange {
  const script = defineScript(
    `
    local log, id, entry = KEYS[#KEYS], ARGV[#ARGV - 4], ARGV[#ARGV - 3]
    local is_recorded = 0
    local function record_act()
      if id == '' then return end
      append_entry(log, id, entry, ARGV[#ARGV - 2], ARGV[#ARGV - 1], ARGV[#ARGV])
      is_recorded = 1
    end
    if id ~= '' and has_entry(log, id) then return {1, ${made}} end
    local function change()
      ${body}
    end
    local reply = change()
    return {is_recorded, reply}`,
    APPEND_ENTRY,
    ...libraries,
  );
  return async function runChange(redis, changedKeys, args, recorded) {
    const [firstKey = ''] = changedKeys;
    if (!recorded) return replyOf(await script(redis, [...changedKeys, firstKey], [...args, ...NO_ENTRY]));
    const entry = entryOf(recorded);
    const place = placeOf(redis, firstKey, recorded.accountId);
    await indexEntry(redis, entry, recorded.act.bounds, place);
    const record = recordOf(entry, recorded.act.bounds);
    const reply = (await script(redis, [...changedKeys, place.key], [...args, ...record])) as ChangeReply;
    if (reply[0] === 0) return replyOf(reply);
    if (place.slot !== undefined) await settleEntry(redis, entry, recorded.act.bounds, place.slot);
    recorded.act.onRecorded?.(entry);
    return replyOf(reply);
  };
}

type ChangeReply = readonly [isRecorded: number, reply: unknown];

function replyOf(reply: unknown): unknown {
  return (reply as ChangeReply)[1];
}

const NO_ENTRY = ['', '', '', '', ''];

// A log is a sorted set whose members begin with the id of the entry, and so with its time. There is no bound by count
// where entries move to the history.
export const APPEND_ENTRY = `
  local function has_entry(log, id)
    return redis.call('ZLEXCOUNT', log, '[' .. id, '(' .. id .. '\\255') > 0
  end
  local function append_entry(log, id, entry, count, oldest, age)
    if has_entry(log, id) then return end
    redis.call('ZADD', log, 0, id .. entry)
    redis.call('ZREMRANGEBYLEX', log, '-', '(' .. oldest)
    if count ~= '' then redis.call('ZREMRANGEBYRANK', log, 0, -tonumber(count) - 1) end
    redis.call('PEXPIRE', log, age)
  end`;

/** Record an act by itself: one that changes nothing, or whose steps come after it. */
const APPEND = defineChange('1', 'record_act() return 1');

export async function recordAct(redis: RedisClient, recorded: Recorded): Promise<void> {
  await APPEND(redis, [keys.auditLog(recorded.accountId)], [], recorded);
}

export function entryOf({ act, accountId, targetId, changes = [] }: Recorded): AuditEntry {
  const { id, at, actor, action, address, requestId, clientRequestId } = act;
  return {
    id,
    accountId,
    at,
    actor,
    action,
    ...(targetId === undefined ? {} : { targetId }),
    ...(address === undefined ? {} : { address }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(clientRequestId === undefined ? {} : { clientRequestId }),
    ...(changes.length === 0 ? {} : { changes: boundChanges(changes) }),
  };
}

function recordOf(entry: AuditEntry, { count, ageMs }: AuditBounds): readonly (string | number)[] {
  const most = Number.isFinite(count) ? count : '';
  return [entry.id, JSON.stringify(entry), most, oldestId(entry.at - ageMs), ageMs];
}

/** Before every id of that time and later. */
export function oldestId(epochMs: number): string {
  return `${AUDIT_ID_PREFIX}_${encodeTime(Math.max(epochMs, 0))}`;
}

interface Place {
  readonly key: string;
  /** Where the entry waits in a Cluster until it is in its log, if the change is on another node. */
  readonly slot: string | undefined;
}

const TAG = /\{([^}]+)\}/;

// In a Cluster a script reaches one node. There the entry of a change on another one is put beside the change, and then
// into its log. The index leads to it in both places. Should the process end between the two, a worker finds it: see
// AuditSettler.
function placeOf(redis: RedisClient, changedKey: string, accountId: AccountId): Place {
  const log = keys.auditLog(accountId);
  const slot = TAG.exec(changedKey)?.[1] ?? '';
  if (!(redis instanceof Cluster) || slot === TAG.exec(log)?.[1]) return { key: log, slot: undefined };
  return { key: keys.unsettledAudit(slot), slot };
}

// KEYS: audit-index, unsettled-audits. ARGV: the member, the most of them ('': any number), before which they are too old,
// and where it waits ('': in its log at once).
const INDEX = defineScript(`
  redis.call('ZADD', KEYS[1], 0, ARGV[1])
  redis.call('ZREMRANGEBYLEX', KEYS[1], '-', '(' .. ARGV[3])
  if ARGV[2] ~= '' then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1) end
  if ARGV[4] ~= '' then redis.call('ZADD', KEYS[2], 0, ARGV[1]) end`);

const MAX_INDEXED = 100_000;

// Before the change: what is in a log must be in the index. A member without an entry does no harm.
async function indexEntry(
  redis: RedisClient,
  entry: AuditEntry,
  { count, ageMs }: AuditBounds,
  { slot }: Place,
): Promise<void> {
  const most = Number.isFinite(count) ? MAX_INDEXED : '';
  const args = [indexMember(entry, slot), most, oldestId(entry.at - ageMs), slot ?? ''];
  await INDEX(redis, [keys.auditIndex, keys.unsettledAudits], args);
}

function indexMember({ id, accountId }: AuditEntry, slot: string | undefined): string {
  return [id, accountId ?? '', ...(slot === undefined ? [] : [slot])].join(' ');
}

/** Put an entry into its log, where it was put beside its change first. */
export async function settleEntry(
  redis: RedisClient,
  entry: AuditEntry,
  bounds: AuditBounds,
  slot: string,
): Promise<void> {
  const log = keys.auditLog(entry.accountId as AccountId);
  await SETTLE(redis, [log], recordOf(entry, bounds));
  await redis.zremrangebylex(keys.unsettledAudit(slot), `[${entry.id}`, `[${entry.id}~`);
  await redis.zrem(keys.unsettledAudits, indexMember(entry, slot));
}

// KEYS: audit-log. ARGV: id, entry, the most of them, before which they are too old, for how long.
const SETTLE = defineScript('append_entry(KEYS[1], unpack(ARGV))', APPEND_ENTRY);

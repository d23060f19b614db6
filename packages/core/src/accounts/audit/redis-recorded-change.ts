import { Cluster } from 'ioredis';
import type { AccountId } from '../../domain/account';
import {
  type Act,
  AUDIT_ID_PREFIX,
  type AuditActor,
  type AuditBounds,
  type AuditEntry,
  type FieldChange,
} from '../../domain/audit';
import { keys } from '../../domain/keys';
import { encodeTime } from '../../platform/ids';
import type { RedisClient } from '../../platform/redis-connect';
import { defineLua, stepOf } from '../../platform/redis-lua';
import type { LuaSource, Packed, Script } from '../../platform/redis-script-text';
import { boundChanges } from './field-changes';
import {
  addEntry,
  addToIndex,
  appendEntry,
  hasEntry,
  recordAct,
  runChange,
  runningChange,
  wasMade,
} from './redis-audit-entries.script';

/** An act with what only the change itself knows of it. */
export interface Recorded {
  readonly act: Act;
  /** Whose log the entry belongs to. */
  readonly accountId: AccountId;
  readonly targetId?: string | undefined;
  readonly changes?: readonly FieldChange[];
}

/** A change that is not made yet: `makeChange` makes it. */
export interface Change<Reply> {
  readonly firstKey: string;
  /** @param entry of the audit log whose key this is; `undefined`: there is none. */
  run(
    redis: RedisClient,
    log: string,
    entry: LogEntry | undefined,
  ): Promise<{ readonly isRecorded: boolean; readonly reply: Reply }>;
}

/** An entry as scripts get it. */
interface LogEntry {
  readonly id: string;
  readonly text: string;
  /** `undefined`: any number. */
  readonly most: number | undefined;
  /** Those before are too old. */
  readonly oldest: string;
  readonly keptMs: number;
}

/**
 * A script that makes a change, and appends its entry to the audit log: both, or neither of them, whenever the process or
 * Redis breaks off. It calls `record_act()` where it makes the change, and `was_made()` before: a change that was made already,
 * whose reply was lost on the way, is not made again.
 */
export function defineChange(source: LuaSource): Script {
  const helpers = [hasEntry, appendEntry, runningChange, recordAct, wasMade, runChange];
  return defineLua({ ...source, libraries: [...source.libraries, ...helpers], wrap: inChange });
}

function inChange(body: string): string {
  return `return run_change(function(KEYS, ARGV)\n${body}\nend, KEYS, ARGV)`;
}

export function changeOf<Reply>(
  script: Script,
  changedKeys: readonly string[],
  args: readonly Packed[],
  read: (reply: never) => Reply,
): Change<Reply> {
  const [firstKey = ''] = changedKeys;
  return {
    firstKey,
    run: (redis, log, entry) =>
      stepOf(
        script,
        [...changedKeys, log],
        [packed(entry), args],
        ([isRecorded, reply]: readonly unknown[]) => ({
          isRecorded: isRecorded === 1,
          reply: read((reply ?? undefined) as never),
        }),
      )(redis),
  };
}

function packed(entry: LogEntry | undefined): Packed {
  if (!entry) return false;
  const { id, text, most, oldest, keptMs } = entry;
  return { id, text, most, oldest, kept_ms: String(keptMs) };
}

/** Make a change, with its record if it has one. */
export async function makeChange<Reply>(
  redis: RedisClient,
  change: Change<Reply>,
  recorded: Recorded | undefined,
): Promise<Reply> {
  if (!recorded) return (await change.run(redis, change.firstKey, undefined)).reply;
  const { act, accountId } = recorded;
  const entry = entryOf(recorded);
  const place = placeOf(redis, change.firstKey, accountId);
  await indexEntry(redis, entry, act.bounds, place);
  const { isRecorded, reply } = await change.run(redis, place.key, recordOf(entry, act.bounds));
  if (isRecorded && place.tag !== undefined) await putIntoLog(redis, entry, act.bounds, place.tag);
  if (isRecorded) act.onRecorded?.(entry);
  return reply;
}

/** An entry whose `accountId` is absent is in the operator's log alone. */
export function entryOf({
  act,
  accountId,
  targetId,
  changes = [],
}: Omit<Recorded, 'accountId'> & Pick<AuditEntry, 'accountId'>): AuditEntry {
  const { id, at, actor, actorAccountId, action, address, requestId, clientRequestId } = act;
  return {
    id,
    ...(accountId === undefined ? {} : { accountId }),
    at,
    // A key's name stands in its own account's log alone. In the log of another one it would outlive the erasure of its
    // own, and no account needs to know what the operator calls its keys.
    actor: actorAccountId === accountId ? actor : unnamed(actor),
    action,
    ...(targetId === undefined ? {} : { targetId }),
    ...(address === undefined ? {} : { address }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(clientRequestId === undefined ? {} : { clientRequestId }),
    ...(changes.length === 0 ? {} : { changes: boundChanges(changes) }),
  };
}

function unnamed(actor: AuditActor): AuditActor {
  const isNamed = actor.type === 'api_key' || actor.type === 'portal_session';
  return isNamed ? { type: actor.type, id: actor.id } : actor;
}

function recordOf(entry: AuditEntry, { count, ageMs }: AuditBounds): LogEntry {
  return {
    id: entry.id,
    text: JSON.stringify(entry),
    most: Number.isFinite(count) ? count : undefined,
    oldest: oldestId(entry.at - ageMs),
    keptMs: ageMs,
  };
}

/** Before every id of that time and later. */
export function oldestId(epochMs: number): string {
  return `${AUDIT_ID_PREFIX}_${encodeTime(Math.max(epochMs, 0))}`;
}

interface Place {
  readonly key: string;
  /** Where the entry waits in a Cluster until it is in its log, if the change is on another node. */
  readonly tag: string | undefined;
}

const TAG = /\{([^}]+)\}/;

// In a Cluster a script reaches one node. There the entry of a change on another one is put beside the change, and then
// into its log. The index leads to it in both places. Should the process end between the two, a worker finds it: see
// AuditCompleter.
function placeOf(redis: RedisClient, changedKey: string, accountId: AccountId): Place {
  const log = keys.auditLog(accountId);
  const tag = TAG.exec(changedKey)?.[1] ?? '';
  if (!(redis instanceof Cluster) || tag === TAG.exec(log)?.[1]) return { key: log, tag: undefined };
  return { key: keys.waitingAudit(tag), tag };
}

const MAX_INDEXED = 100_000;

// Before the change: what is in a log must be in the index. A member without an entry does no harm.
async function indexEntry(
  redis: RedisClient,
  entry: AuditEntry,
  { count, ageMs }: AuditBounds,
  { tag }: Place,
): Promise<void> {
  await addToIndex({
    member: indexMember(entry, tag),
    most: Number.isFinite(count) ? MAX_INDEXED : undefined,
    oldest: oldestId(entry.at - ageMs),
    isElsewhere: tag !== undefined,
  })(redis);
}

function indexMember({ id, accountId }: AuditEntry, tag: string | undefined): string {
  return [id, accountId ?? '', ...(tag === undefined ? [] : [tag])].join(' ');
}

/** Put an entry into its log, where it was put beside its change first. */
export async function putIntoLog(
  redis: RedisClient,
  entry: AuditEntry,
  bounds: AuditBounds,
  tag: string,
): Promise<void> {
  const log = keys.auditLog(entry.accountId as AccountId);
  await addEntry({ log, ...recordOf(entry, bounds) })(redis);
  await redis.zremrangebylex(keys.waitingAudit(tag), `[${entry.id}`, `[${entry.id}~`);
  await redis.zrem(keys.waitingAudits, indexMember(entry, tag));
}

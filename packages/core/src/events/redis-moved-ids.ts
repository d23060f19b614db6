import { createHash } from 'node:crypto';
import type { AccountId } from '../domain/account';
import type { AcceptedEvent, EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { RUN_WITHIN_MS } from '../platform/redis-deadline';
import type { ScriptRows } from '../platform/redis-rows';
import { defineGuard, defineScript, type ScriptTarget, type Step } from '../platform/redis-script';

/** The id of an event that has moved to the history, and what it stands for. */
export interface MovedId {
  /**
   * - `claimed`: a client chose the id over HTTP; the digest is that of its claim.
   * - `queued`: the event came by the queue; the digest is that of its body.
   */
  readonly kind: 'claimed' | 'queued';
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Of the content, as in a claim; the beginning is enough. `undefined`: its payload was erased. */
  readonly digest: string | undefined;
}

/** An event that leaves Redis, with what stays known of it. */
export interface KeptId {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Absent: no client publishes with its id again. */
  readonly movedId: Omit<MovedId, 'acceptedAt'> | undefined;
}

/** The members of an event that tell whether it was sent. */
type Known = Pick<AcceptedEvent, 'accountId' | 'id' | 'isClaimed' | 'isQueued'>;

/** What became of an event that may have been fanned out before. */
export interface Settled {
  /** Whether it is in its account's list: it is complete then. */
  readonly isListed: boolean;
  readonly moved: MovedId | undefined;
}

// So that the ids of an account with millions of events take less than 100 bytes each, and those of one with a
// few thousand no key for each.
const BUCKETS = 1_024;
const FIELD_BYTES = 9;
const DIGEST_LENGTH = 22;
/** Looked at for each one that is added. So an eighth of those that are kept have lapsed. */
const LOOKED_AT = 8;
/**
 * For so long after an event has moved, what stored it may come again over a connection that broke: no script runs later
 * than its deadline, `RUN_WITHIN_MS`. Twice that, as the nodes of a Cluster have clocks of their own.
 */
export const REPEATED_WITHIN_MS = 2 * RUN_WITHIN_MS;
/** What was accepted longer ago was stored longer ago than that, unless its process stood still in between. */
const YOUNG_MS = 600_000;

// Never later than by the clock of Redis: a process whose own clock is ahead would forget ids that others still need.
const NOT_AHEAD = `
  local function not_ahead(now)
    local time = redis.call('TIME')
    return math.min(now, time[1] * 1000 + math.floor(time[2] / 1000))
  end`;

// KEYS: the account's events, bucket. ARGV: event, field.
const LOOK = defineScript(`
  return {redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0, redis.call('HGET', KEYS[2], ARGV[2]) or ''}`);

// KEYS: the account's events, bucket. ARGV: event, field, now, after how long those that were accepted have lapsed.
const GUARD_UNSETTLED = defineGuard(
  `
  if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
  local accepted_at = string.match(redis.call('HGET', KEYS[2], ARGV[2]) or '', '^%a(%d+)')
  return accepted_at and tonumber(accepted_at) >= not_ahead(ARGV[3]) - ARGV[4] and 0 or 1`,
  NOT_AHEAD,
);

// KEYS: the account's events, young ones that have moved. ARGV: events.
const GUARD_UNREPEATED = defineGuard(`
  for _, key in ipairs(KEYS) do
    for _, score in ipairs(redis.call('ZMSCORE', key, unpack(ARGV))) do
      if score then return 0 end
    end
  end
  return 1`);

// KEYS: bucket, young ones that have moved. ARGV: field, value or '', how long to keep it, now, event, '1' if it is young or ''.
const KEEP = defineScript(
  `
  local now = not_ahead(ARGV[4])
  if ARGV[2] ~= '' then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    local some = redis.call('HRANDFIELD', KEYS[1], ${LOOKED_AT}, 'WITHVALUES')
    for i = 1, #some, 2 do
      local accepted_at = tonumber(string.match(some[i + 1], '^%a(%d+)'))
      if accepted_at and accepted_at < now - ARGV[3] then redis.call('HDEL', KEYS[1], some[i]) end
    end
  end
  if ARGV[6] == '1' then
    local time = redis.call('TIME')
    local moved_at = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('ZADD', KEYS[2], string.format('%d', moved_at), ARGV[5])
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%d', moved_at - ${REPEATED_WITHIN_MS}))
    redis.call('PEXPIRE', KEYS[2], ${REPEATED_WITHIN_MS})
  end`,
  NOT_AHEAD,
);

// KEYS: bucket. ARGV: field.
const ERASE_DIGEST = defineScript(`
  local value = redis.call('HGET', KEYS[1], ARGV[1])
  if value then redis.call('HSET', KEYS[1], ARGV[1], string.match(value, '^%a%d+ ')) end`);

/**
 * The ids of events that have moved to the history, for as long as an id that is published again is known:
 * RETENTION. Nobody publishes again with those that the API made itself. They are known for as long as the API's own
 * request may be repeated.
 */
export class MovedIds {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
  ) {}

  async look(
    accountId: AccountId,
    id: EventId,
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<Settled> {
    const { bucket, field } = placeOf(accountId, id);
    const reply = await LOOK(target, [keys.events(accountId), bucket], [id, field]);
    const [isListed, value] = reply as readonly [number, string];
    const moved = decode(value);
    const isKept = moved !== undefined && moved.acceptedAt >= now - this.retentionMs;
    return { isListed: isListed === 1, moved: isKept ? moved : undefined };
  }

  /**
   * Guards for the step before events of an account are stored: whether none of them has been sent. Another process may
   * have sent or cancelled one that was published with its id, and it may have moved, since it was looked at. And Redis
   * may have run this very request before, over a connection that broke.
   */
  guardsUnsettled(events: readonly AcceptedEvent[], now: number): readonly Step[] {
    const known = events.filter(mayBeKnown);
    const others = events.filter((event) => !mayBeKnown(event));
    const guards: Step[] = [];
    if (known.length > 0) {
      guards.push((target) => Promise.all(known.map((event) => this.guardUnsettled(event, now, target))));
    }
    if (others.length > 0) guards.push((target) => this.guardUnrepeated(others, target));
    return guards;
  }

  /** Whether one of these guards would have stopped at this event. */
  async isSettled(event: Known, now: number): Promise<boolean> {
    if (!mayBeKnown(event)) return !(await this.guardUnrepeated([event], this.redis));
    const { isListed, moved } = await this.look(event.accountId, event.id, now);
    return isListed || moved !== undefined;
  }

  /** A guard: whether one that may have been published before is not there, and has not moved. */
  async guardUnsettled({ accountId, id }: Known, now: number, target: ScriptTarget): Promise<void> {
    const { bucket, field } = placeOf(accountId, id);
    await GUARD_UNSETTLED(target, [keys.events(accountId), bucket], [id, field, now, this.retentionMs]);
  }

  /** A guard: whether Redis has stored none of an account's events, whose ids the API made. */
  async guardUnrepeated(events: readonly Known[], target: ScriptTarget): Promise<boolean> {
    const [first] = events;
    if (first === undefined) return true;
    const lists = [keys.events(first.accountId), keys.youngMoved(first.accountId)];
    const ids = events.map(({ id }) => id);
    return (await GUARD_UNREPEATED(target, lists, ids)) === 1;
  }

  async keep(rows: readonly KeptId[], now: number, target: ScriptRows): Promise<void> {
    const { retentionMs } = this;
    await target.call(
      KEEP,
      rows,
      ({ accountId, eventId }) => [placeOf(accountId, eventId).bucket, keys.youngMoved(accountId)],
      ({ accountId, eventId, acceptedAt, movedId }) => [
        placeOf(accountId, eventId).field,
        movedId === undefined ? '' : encode({ ...movedId, acceptedAt }),
        retentionMs,
        now,
        eventId,
        isYoung(acceptedAt, now) ? '1' : '',
      ],
    );
  }

  /** Its id stays taken. */
  async eraseDigest(accountId: AccountId, id: EventId): Promise<void> {
    const { bucket, field } = placeOf(accountId, id);
    await ERASE_DIGEST(this.redis, [bucket], [field]);
  }

  async removeAll(accountId: AccountId): Promise<void> {
    const buckets = Array.from({ length: BUCKETS }, (_, i) => keys.movedIds(accountId, i));
    await this.redis.unlink(...buckets, keys.youngMoved(accountId));
  }
}

/** Whether anything of an event stays known when it moves. @param now milliseconds since the Unix epoch */
export function staysKnown({ acceptedAt, movedId }: KeptId, now: number): boolean {
  return movedId !== undefined || isYoung(acceptedAt, now);
}

function isYoung(acceptedAt: number, now: number): boolean {
  return acceptedAt > now - YOUNG_MS;
}

/** Whether an event may have been accepted before. One whose id the API made was not. */
export function mayBeKnown({ isClaimed, isQueued }: Pick<AcceptedEvent, 'isClaimed' | 'isQueued'>): boolean {
  return isClaimed === true || isQueued === true;
}

/** Whether a digest is that of the content which the id stands for. */
export function isOfDigest({ digest }: MovedId, whole: string): boolean {
  return digest !== undefined && whole.startsWith(digest);
}

/** The digest of an event's content: its body, and the endpoints that it is aimed at. */
export function digestOf(body: string, endpointIds: readonly string[] = []): string {
  return createHash('sha256')
    .update(`${endpointIds.join(' ')}\n${body}`)
    .digest('base64url');
}

// Nobody can choose ids so that they all come into one bucket.
function placeOf(accountId: AccountId, id: EventId): { readonly bucket: string; readonly field: string } {
  const digest = createHash('sha256').update(id).digest();
  return {
    bucket: keys.movedIds(accountId, digest.readUInt16BE(0) % BUCKETS),
    field: digest.toString('base64url', 2, 2 + FIELD_BYTES),
  };
}

const KINDS = { claimed: 'c', queued: 'q' } as const;

function encode({ kind, acceptedAt, digest = '' }: MovedId): string {
  return `${KINDS[kind]}${acceptedAt} ${digest.slice(0, DIGEST_LENGTH)}`;
}

function decode(value: string): MovedId | undefined {
  const [, letter, acceptedAt, digest] = /^([cq])(\d+) ([\w-]*)$/.exec(value) ?? [];
  if (letter === undefined) return undefined;
  return {
    kind: letter === KINDS.claimed ? 'claimed' : 'queued',
    acceptedAt: Number(acceptedAt),
    digest: digest === '' ? undefined : digest,
  };
}

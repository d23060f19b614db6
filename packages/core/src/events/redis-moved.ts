import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import { type EndStatus, ERASED_LOG_START, endStatuses } from '../domain/delivery-log';
import { EVENT_HEAD_BYTES, type EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import type { ScriptRows } from '../platform/redis-rows';
import { defineGuard, defineScript, type ScriptTarget } from '../platform/redis-script';
import { hasMember, isHeadErased } from './redis-event-head.script';
import { isFormer, isFormerErased } from './redis-former-head.script';

/** An event as it is stored, and the digest of its claim if a client chose its id. */
export interface SeenEvent {
  /** `undefined`: it is gone. */
  readonly text: string | undefined;
  readonly digest: string | undefined;
  /** Its time in its account's list: it is complete then. `undefined`: it is not there. */
  readonly listedAt: number | undefined;
}

/** A delivery as it is stored. */
export interface SeenDelivery {
  /** `undefined`: nothing has happened yet, or all of it has moved. */
  readonly log: string | undefined;
  /** Whether its endpoint's list has it. Known only without a log. */
  readonly isListed: boolean;
}

/** How many of an event's deliveries have moved, by their status. */
export type MovedCounts = Readonly<Partial<Record<EndStatus, number>>>;

/** The newest times of what has moved. Milliseconds since the Unix epoch; 0: there was none. */
export interface MovedReach {
  readonly acceptedAt: number;
  readonly attemptAt: number;
}

interface EventPlace {
  readonly accountId: AccountId;
  readonly eventId: EventId;
}

/** A delivery that leaves Redis, as it was read. */
export interface RemovedDelivery extends EventPlace, DeliveryParts {
  readonly fence: LogFence;
  /** Counted as moved, unless it is done already. */
  readonly status: EndStatus | undefined;
}

/** An event that leaves Redis, as it was read. */
export interface DroppedEvent extends EventPlace {
  readonly isErased: boolean;
}

/** `later`: its payload was erased since it was read, or it is about to be sent again. */
export type Dropped = 'dropped' | 'needed' | 'later';

// KEYS: event, event-claim. Both texts are '' if there is none.
const SEE_EVENT = defineScript(`
  return {redis.call('GET', KEYS[1]) or '', redis.call('HGET', KEYS[2], 'digest') or ''}`);

// KEYS: log, list. ARGV: event. Gives the log ('' if there is none), and whether it is in the list without one.
const SEE_DELIVERY = defineScript(`
  local log = redis.call('GET', KEYS[1])
  if log then return {log, 1} end
  return {'', redis.call('ZSCORE', KEYS[2], ARGV[1]) and 1 or 0}`);

// KEYS: the account's events. ARGV: event.
const SEE_LISTED = defineScript(`return redis.call('ZSCORE', KEYS[1], ARGV[1]) or ''`);

// KEYS: reach, attempt-reach. ARGV: a time each.
const RAISE_REACH = defineScript(`
  for i, key in ipairs(KEYS) do
    if tonumber(redis.call('GET', key) or '0') < tonumber(ARGV[i]) then redis.call('SET', key, ARGV[i]) end
  end`);

// For an event's delivery of which all is over: not if it is about to be sent again, nor if something was
// recorded since its log was read. A log only grows, and an erasure changes its start.
// `once` knows of it in a script that has looked already.
const IS_UNCHANGED = `
  local function is_unchanged(pin, log, length, is_erased)
    if once[log] then return true end
    if redis.call('EXISTS', pin) == 1 or redis.call('STRLEN', log) ~= tonumber(length) then return false end
    local start = redis.call('GETRANGE', log, 0, ${ERASED_LOG_START.length - 1})
    return (start == '${ERASED_LOG_START}') == (is_erased == '1')
  end`;

// KEYS: pin, log. ARGV: length of the log, whether its responses are erased.
const CHECK = defineGuard(
  `
  once[KEYS[2]] = is_unchanged(KEYS[1], KEYS[2], ARGV[1], ARGV[2]) or nil
  return once[KEYS[2]] and 1 or 0`,
  IS_UNCHANGED,
);

// KEYS: receivers, moved. ARGV: endpoint, status ('' if it is not known), how long to keep the count.
const RELEASE = defineScript(`
  if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 or ARGV[2] == '' then return end
  redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[2], ARGV[3])`);

// KEYS: pin, log, list, order, turn. ARGV: length of the log, whether its responses are erased, event.
const REMOVE = defineGuard(
  `
  local pin, log, list, order, turn = unpack(KEYS)
  if not is_unchanged(pin, log, ARGV[1], ARGV[2]) then return 0 end
  once[log] = nil
  redis.call('UNLINK', log)
  redis.call('ZREM', list, ARGV[3])
  if redis.call('EXISTS', order, turn) > 0 then
    redis.call('ZREM', order, ARGV[3])
    if redis.call('GET', turn) == ARGV[3] then redis.call('DEL', turn) end
  end
  return 1`,
  IS_UNCHANGED,
);

const HEADS = [isFormer, isFormerErased, hasMember, isHeadErased].map(({ body }) => body).join('\n');

// KEYS: event, receivers, pin, event-claim, moved, scheduled-for. ARGV: whether its payload was erased. Gives 1 and
// the bytes that are gone; 0 and 1 if it is to be tried again.
const DROP = defineGuard(
  `
  local event, receivers, pin, claim, moved, scheduled_for = unpack(KEYS)
  if redis.call('EXISTS', receivers, pin) > 0 then return {0, 1 - redis.call('EXISTS', receivers)} end
  local head = string.match(redis.call('GETRANGE', event, 0, ${EVENT_HEAD_BYTES - 1}), '^[^\\n]+') or ''
  if is_head_erased(head) ~= (ARGV[1] == '1') then return {0, 1} end
  local bytes = redis.call('STRLEN', event)
  redis.call('UNLINK', event, claim, moved, scheduled_for)
  return {1, bytes}`,
  HEADS,
);

// KEYS: event.
const IS_GONE = defineGuard(`return 1 - redis.call('EXISTS', KEYS[1])`);

// KEYS: event. Gives 1 as well if it is gone.
const IS_ERASED = defineScript(
  `
  local head = string.match(redis.call('GETRANGE', KEYS[1], 0, ${EVENT_HEAD_BYTES - 1}), '^[^\\n]+')
  return (not head or is_head_erased(head)) and 1 or 0`,
  HEADS,
);

// KEYS: the account's events. ARGV: event.
const LEAVE = defineScript(`redis.call('ZREM', KEYS[1], ARGV[1])`);

/** What a log was when it was read: it is the same one as long as these are. */
interface LogFence {
  readonly length: number;
  readonly isErased: boolean;
}

export function fenceOf(log: string): LogFence {
  return { length: Buffer.byteLength(log), isErased: log.startsWith(ERASED_LOG_START) };
}

/**
 * What Redis gives to the history. Each step is a guard or harmless when repeated.
 *
 * What moves leaves in this order: the receiver, the log with its place in the endpoint's list, then, with
 * the last receiver, the event. So a delivery that an event's receivers lead to has its log.
 */
export class MovedStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
  ) {}

  async seeEvents(rows: readonly EventPlace[], target: ScriptRows): Promise<readonly SeenEvent[]> {
    const [seen, listed] = await Promise.all([
      target.call(
        SEE_EVENT,
        rows,
        ({ accountId, eventId }) => [keys.event(accountId, eventId), keys.eventClaim(accountId, eventId)],
        () => [],
      ),
      target.call(
        SEE_LISTED,
        rows,
        ({ accountId }) => [keys.events(accountId)],
        ({ eventId }) => [eventId],
      ),
    ]);
    return rows.map((_row, i) => {
      const [text = '', digest = ''] = (seen[i] ?? []) as readonly string[];
      const score = (listed[i] ?? '') as string;
      return {
        text: text || undefined,
        digest: digest || undefined,
        listedAt: score === '' ? undefined : Number(score),
      };
    });
  }

  async seeDeliveries(rows: readonly DeliveryParts[], target: ScriptRows): Promise<readonly SeenDelivery[]> {
    const seen = await target.call(
      SEE_DELIVERY,
      rows,
      ({ endpointId, eventId }) => [keys.delivery(endpointId, eventId), keys.deliveries(endpointId)],
      ({ eventId }) => [eventId],
    );
    return seen.map((reply) => {
      const [log = '', isListed = 0] = (reply ?? []) as readonly [string?, number?];
      return { log: log || undefined, isListed: isListed === 1 };
    });
  }

  /**
   * Everything of the account that was accepted after this is in Redis. `undefined`: nothing has moved, or
   * this Redis does not know. Milliseconds since the Unix epoch.
   */
  async reach(accountId: AccountId): Promise<number | undefined> {
    const reach = await this.redis.get(keys.reach(accountId));
    return reach === null ? undefined : Number(reach);
  }

  /**
   * All of the account's attempts that began after this are in Redis. `undefined`: none has moved, or this
   * Redis does not know. Milliseconds since the Unix epoch.
   */
  async attemptReach(accountId: AccountId): Promise<number | undefined> {
    const reach = await this.redis.get(keys.attemptReach(accountId));
    return reach === null ? undefined : Number(reach);
  }

  /** Before anything is removed that was accepted then, or has an attempt of then. */
  async raiseReach(
    accountId: AccountId,
    { acceptedAt, attemptAt }: MovedReach,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const reachKeys = [keys.reach(accountId), keys.attemptReach(accountId)];
    await RAISE_REACH(target, reachKeys, [acceptedAt, attemptAt]);
  }

  /** A guard: whether a delivery is as it was read, and not about to be sent again. */
  async guardUnchanged(rows: readonly RemovedDelivery[], target: ScriptRows): Promise<void> {
    await target.call(
      CHECK,
      rows,
      ({ endpointId, eventId }) => [keys.pinned(endpointId, eventId), keys.delivery(endpointId, eventId)],
      ({ fence: { length, isErased } }) => [length, isErased ? 1 : 0],
    );
  }

  /** Take endpoints off the receivers of their events. */
  async release(rows: readonly RemovedDelivery[], target: ScriptRows): Promise<void> {
    const { ageMs } = this.retention;
    await target.call(
      RELEASE,
      rows,
      ({ accountId, eventId }) => [keys.receivers(accountId, eventId), keys.moved(accountId, eventId)],
      ({ endpointId, status = '' }) => [endpointId, status, ageMs],
    );
  }

  /** A guard: remove a delivery's log and its places in lists, if it is as it was read. Gives whether it did. */
  async remove(rows: readonly RemovedDelivery[], target: ScriptRows): Promise<readonly boolean[]> {
    const removed = await target.call(
      REMOVE,
      rows,
      ({ endpointId, eventId }) => [
        keys.pinned(endpointId, eventId),
        keys.delivery(endpointId, eventId),
        keys.deliveries(endpointId),
        keys.order(endpointId),
        keys.turn(endpointId),
      ],
      ({ eventId, fence: { length, isErased } }) => [length, isErased ? 1 : 0, eventId],
    );
    return removed.map((reply) => reply === 1);
  }

  /** A guard: remove an event that no delivery needs any more. */
  async drop(
    rows: readonly DroppedEvent[],
    target: ScriptRows,
  ): Promise<readonly { readonly outcome: Dropped; readonly bytes: number }[]> {
    const dropped = await target.call(
      DROP,
      rows,
      ({ accountId, eventId }) => [
        keys.event(accountId, eventId),
        keys.receivers(accountId, eventId),
        keys.pinnedEvent(accountId, eventId),
        keys.eventClaim(accountId, eventId),
        keys.moved(accountId, eventId),
        keys.scheduledFor(accountId, eventId),
      ],
      ({ isErased }) => [isErased ? 1 : 0],
    );
    return dropped.map((reply) => {
      const [isDropped, rest] = (reply ?? [0, 0]) as readonly [number, number];
      if (isDropped === 1) return { outcome: 'dropped', bytes: rest };
      return { outcome: rest === 1 ? 'later' : 'needed', bytes: 0 };
    });
  }

  /** A guard: whether an event is not in Redis. It may have been brought back since it was read. */
  async guardGone(rows: readonly EventPlace[], target: ScriptRows): Promise<void> {
    await target.call(
      IS_GONE,
      rows,
      ({ accountId, eventId }) => [keys.event(accountId, eventId)],
      () => [],
    );
  }

  /** Take events off the lists of their accounts. */
  async leave(rows: readonly EventPlace[], target: ScriptRows): Promise<void> {
    await target.call(
      LEAVE,
      rows,
      ({ accountId }) => [keys.events(accountId)],
      ({ eventId }) => [eventId],
    );
  }

  /** Tell movers that a payload was erased, once Redis has nothing of it any more. */
  async noteErasure(): Promise<void> {
    await this.redis.incr(keys.erasures);
  }

  /** Changes with each payload that is erased. */
  async erasures(): Promise<string | null> {
    return await this.redis.get(keys.erasures);
  }

  /** Whether the payloads of events were erased, or the events are gone. */
  async areErased(rows: readonly EventPlace[], target: ScriptRows): Promise<readonly boolean[]> {
    const erased = await target.call(
      IS_ERASED,
      rows,
      ({ accountId, eventId }) => [keys.event(accountId, eventId)],
      () => [],
    );
    return erased.map((reply) => reply === 1);
  }

  /** How many of the event's deliveries have moved, while the event itself is in Redis. */
  async countsOf(accountId: AccountId, id: EventId): Promise<MovedCounts> {
    const counts = await this.redis.hgetall(keys.moved(accountId, id));
    return Object.fromEntries(
      endStatuses.flatMap((status) =>
        counts[status] === undefined ? [] : [[status, Number(counts[status])]],
      ),
    );
  }
}

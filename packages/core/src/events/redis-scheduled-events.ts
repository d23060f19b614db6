import type { AccountId } from '../domain/account';
import { type EndpointId, endpointIdSchema } from '../domain/endpoint';
import {
  type AcceptedEvent,
  EVENT_HEAD_BYTES,
  type EventId,
  publishedAtOf,
  type StoredEvent,
} from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { defineGuard, defineScript, type ScriptTarget } from '../platform/redis-script';
import { storedMsOf } from './redis-event-index';
import { decodeStored, encode } from './redis-event-store';

/**
 * What an id stands for:
 * - `waiting`: an event that is not due yet.
 * - `due`: one that is sent, or was; one that was published to be sent at once as well.
 * - `cancelled`: one that was cancelled before it was due.
 * - `gone`: none.
 */
export type ScheduledState = 'waiting' | 'due' | 'cancelled' | 'gone';

/** An event that is about to be changed. */
export interface SeenScheduled {
  readonly state: ScheduledState;
  /** When it is due, or was. Milliseconds since the Unix epoch. 0: there is none. */
  readonly deliverAt: number;
  /** Of its body. */
  readonly bytes: number;
  /** The name of the idempotent response that tells of it. */
  readonly answer: string | undefined;
}

/** The decision about a scheduled event that is due. */
export type Begun =
  | { readonly state: 'due' | 'cancelled'; readonly event: StoredEvent; readonly isFirst: boolean }
  /** It was moved meanwhile. */
  | { readonly state: 'waiting'; readonly deliverAt: number }
  | { readonly state: 'gone' };

// The clock of Redis tells what is due: one clock for all processes. `head_of` gives the first line of an event, or nothing.
const SCHEDULE = `
  local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local function head_of(event)
    return string.match(redis.call('GETRANGE', event, 0, ${EVENT_HEAD_BYTES - 1}), '^[^\\n]+')
  end
  local function state_of(head)
    if not head then return 'gone' end
    if string.find(head, ' ~%d') then return 'waiting' end
    return string.find(head, ' %-%d') and 'cancelled' or 'due'
  end`;

// KEYS: event, scheduled-for. ARGV: how long to keep them, the event, the name of the response, endpoints.
const SAVE = defineGuard(
  `
  if not redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1], 'NX') then return 0 end
  if ARGV[3] ~= '' or ARGV[4] ~= '' then
    redis.call('HSET', KEYS[2], 'answer', ARGV[3], 'to', ARGV[4])
    redis.call('PEXPIRE', KEYS[2], ARGV[1])
  end
  return 1`,
);

// KEYS: event, scheduled-for.
const SEE = defineScript(
  `
  local head = head_of(KEYS[1])
  if not head then return {'gone', '0', 0, ''} end
  local would_be = string.match(head, ' %-%d+,(%d+)')
  local bytes = redis.call('STRLEN', KEYS[1]) - #head - 1
  return {state_of(head), would_be or string.match(head, '^%d+'), bytes, redis.call('HGET', KEYS[2], 'answer') or ''}`,
  SCHEDULE,
);

// Times have equally many digits for the next 250 years. KEYS: event, claim, scheduled-for. ARGV: when it is
// to be due, how long an event is kept after that.
const MOVE = defineGuard(
  `
  local head, now = head_of(KEYS[1]), now_ms()
  if state_of(head) ~= 'waiting' or tonumber(string.match(head, '^%d+')) <= now then return 0 end
  redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
  local kept = string.format('%d', math.max(ARGV[1] - now, 0) + ARGV[2])
  for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], kept) end
  return 1`,
  SCHEDULE,
);

// KEYS: event, claim, scheduled-for. ARGV: now, how long it is kept.
const CANCEL = defineGuard(
  `
  local head = head_of(KEYS[1])
  if state_of(head) ~= 'waiting' then return 0 end
  local due_at, published_at = string.match(head, '^(%d+)'), string.match(head, ' ~(%d+)')
  if tonumber(due_at) <= now_ms() then return 0 end
  local mark = ' -' .. published_at .. ',' .. due_at
  local cancelled = ARGV[1] .. string.gsub(string.sub(head, #due_at + 1), ' ~%d+', mark, 1)
  local body = redis.call('GETRANGE', KEYS[1], #head, -1)
  redis.call('SET', KEYS[1], cancelled .. body, 'PX', ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  redis.call('UNLINK', KEYS[3])
  return 1`,
  SCHEDULE,
);

// By the time that its shard saw, or by now: the clocks of two nodes may differ. Another time was set
// meanwhile if it is later than both. KEYS: event, scheduled-for. ARGV: when it was due.
const BEGIN = defineScript(
  `
  local head = head_of(KEYS[1])
  local state = state_of(head)
  if state == 'gone' then return {state} end
  local is_first = 0
  if state == 'waiting' then
    local due_at = tonumber(string.match(head, '^%d+'))
    if due_at > tonumber(ARGV[1]) and due_at > now_ms() then return {state, string.match(head, '^%d+')} end
    redis.call('SETRANGE', KEYS[1], string.find(head, ' ~%d'), '+')
    state, is_first = 'due', 1
  end
  return {state, redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], 'to') or '', is_first}`,
  SCHEDULE,
);

/**
 * The records of events that were published to be sent later. Whether such an event waits, is due or was
 * cancelled is decided here, in one step for each event: queues may bring it up more than once, or too early.
 */
export class ScheduledEvents {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
  ) {}

  /**
   * Store an event that waits, with its body, until RETENTION after it is due. As a step, it keeps the later
   * ones from running when there is an event of this id.
   *
   * @param answer the name of the idempotent response that tells of it.
   * @returns whether there was none.
   */
  async save(event: AcceptedEvent, answer = '', target: ScriptTarget = this.redis): Promise<boolean> {
    const { accountId, id, acceptedAt, endpointIds = [] } = event;
    const waitMs = Math.max(acceptedAt - publishedAtOf(event), 0);
    const eventKeys = [keys.event(accountId, id), keys.scheduledFor(accountId, id)];
    const args = [waitMs + storedMsOf(this.retention), encode(event), answer, endpointIds.join(' ')];
    return (await SAVE(target, eventKeys, args)) === 1;
  }

  async see(accountId: AccountId, id: EventId): Promise<SeenScheduled> {
    const eventKeys = [keys.event(accountId, id), keys.scheduledFor(accountId, id)];
    const reply = await SEE(this.redis, eventKeys, []);
    const [state, deliverAt, bytes, answer] = reply as readonly [ScheduledState, string, number, string];
    return { state, deliverAt: Number(deliverAt), bytes, answer: answer === '' ? undefined : answer };
  }

  /** Set another time. As a step, it keeps the later ones from running when the event does not wait any more. */
  async move(
    accountId: AccountId,
    id: EventId,
    deliverAt: number,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    return (await MOVE(target, keysOf(accountId, id), [deliverAt, storedMsOf(this.retention)])) === 1;
  }

  /** The same, but it is not sent at all. @param now its place in lists. */
  async cancel(
    accountId: AccountId,
    id: EventId,
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    return (await CANCEL(target, keysOf(accountId, id), [now, storedMsOf(this.retention)])) === 1;
  }

  /**
   * From here on it can't be moved or cancelled. Repeating it gives the same.
   *
   * @param dueAt the time at which its queue brought it up.
   */
  async begin(accountId: AccountId, id: EventId, dueAt: number): Promise<Begun> {
    const eventKeys = [keys.event(accountId, id), keys.scheduledFor(accountId, id)];
    const reply = await BEGIN(this.redis, eventKeys, [dueAt]);
    const [state, text = '', to = '', isFirst] = reply as readonly [
      ScheduledState,
      string?,
      string?,
      number?,
    ];
    switch (state) {
      case 'gone':
        return { state };
      case 'waiting':
        return { state, deliverAt: Number(text) };
      case 'due':
      case 'cancelled':
        return { state, event: aim(decodeStored(accountId, id, text), to), isFirst: isFirst === 1 };
    }
  }
}

function keysOf(accountId: AccountId, id: EventId): readonly string[] {
  return [keys.event(accountId, id), keys.eventClaim(accountId, id), keys.scheduledFor(accountId, id)];
}

function aim(event: StoredEvent, to: string): StoredEvent {
  if (to === '') return event;
  const endpointIds: readonly EndpointId[] = to.split(' ').map((text) => endpointIdSchema.parse(text));
  return { ...event, endpointIds };
}

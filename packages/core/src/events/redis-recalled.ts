import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { EndStatus } from '../domain/delivery-log';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import { storedMsOf } from './redis-event-index';
import type { MovedCounts } from './redis-moved';

/** An event that comes back from the history. */
export interface ReturnedEvent {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** As it is stored. */
  readonly text: string;
  /** Of all of its deliveries that are in the history. */
  readonly counts: MovedCounts;
}

/** An event that is to be sent again stays for so long, if its process dies before it has a job. */
export const PINNED_FOR_MS = 60_000;

// KEYS: pin, event, moved. ARGV: how long. Gives whether the event is here, and whether deliveries have moved.
const PIN_EVENT = defineScript(`
  redis.call('INCR', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return {redis.call('EXISTS', KEYS[2]), redis.call('EXISTS', KEYS[3])}`);

// KEYS: pin, log, list. ARGV: how long, event. Gives whether the delivery is here.
const PIN = defineScript(`
  redis.call('INCR', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('ZSCORE', KEYS[3], ARGV[2]) then return 1 end
  return 0`);

// Those that others need stay. KEYS: pin.
const UNPIN = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('DECR', KEYS[1]) <= 0 then redis.call('DEL', KEYS[1]) end`);

// KEYS: event, moved. ARGV: the event, how long to keep it, then each status with its number.
const RETURN_EVENT = defineScript(`
  if not redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return 0 end
  redis.call('DEL', KEYS[2])
  if #ARGV > 2 then
    redis.call('HSET', KEYS[2], unpack(ARGV, 3))
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
  end
  return 1`);

// KEYS: receivers, moved. ARGV: endpoint, how long to keep it, its status in the history.
const RETURN_RECEIVER = defineScript(`
  if redis.call('ZADD', KEYS[1], 'NX', 0, ARGV[1]) == 0 then return end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  if redis.call('HINCRBY', KEYS[2], ARGV[3], -1) <= 0 then redis.call('HDEL', KEYS[2], ARGV[3]) end`);

// KEYS: log, list. ARGV: the log, how long to keep it, time of acceptance, event.
const RETURN_LOG = defineScript(`
  if not redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return 0 end
  redis.call('ZADD', KEYS[2], 'NX', ARGV[3], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  return 1`);

// KEYS: the account's events. ARGV: time of acceptance, event, how long to keep it.
const LIST_AGAIN = defineScript(`
  redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])`);

/** What Redis gets back from the history, to send it again. Each step is harmless when repeated. */
export class RecalledStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
  ) {}

  /**
   * Keep what is about to be sent again from moving for a minute.
   *
   * @returns whether all there is of event and delivery is here.
   */
  async pin(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const eventKeys = [
      keys.pinnedEvent(accountId, eventId),
      keys.event(accountId, eventId),
      keys.moved(accountId, eventId),
    ];
    const deliveryKeys = [
      keys.pinned(endpointId, eventId),
      keys.delivery(endpointId, eventId),
      keys.deliveries(endpointId),
    ];
    const [ofEvent, hasDelivery] = await Promise.all([
      PIN_EVENT(target, eventKeys, [PINNED_FOR_MS]),
      PIN(target, deliveryKeys, [PINNED_FOR_MS, eventId]),
    ]);
    const [hasEvent, haveSomeMoved] = ofEvent as readonly [number, number];
    return hasEvent === 1 && (hasDelivery === 1 || haveSomeMoved === 0);
  }

  /** Once what was pinned has its job, or is not sent. */
  async unpin(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    await Promise.all([
      UNPIN(target, [keys.pinnedEvent(accountId, eventId)], []),
      UNPIN(target, [keys.pinned(endpointId, eventId)], []),
    ]);
  }

  /** Put an event back, unless it is here. Gives whether it is back. */
  async returnEvent(
    { accountId, eventId, text, counts }: ReturnedEvent,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const eventKeys = [keys.event(accountId, eventId), keys.moved(accountId, eventId)];
    const args = [text, storedMsOf(this.retention), ...Object.entries(counts).flat()];
    return (await RETURN_EVENT(target, eventKeys, args)) === 1;
  }

  /** Put an endpoint back among an event's receivers. It is not counted as moved any more. */
  async returnReceiver(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    status: EndStatus,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const eventKeys = [keys.receivers(accountId, eventId), keys.moved(accountId, eventId)];
    await RETURN_RECEIVER(target, eventKeys, [endpointId, storedMsOf(this.retention), status]);
  }

  /** Put a delivery's log back, unless there is one. Gives whether it is back. */
  async returnLog(
    { endpointId, eventId }: DeliveryParts,
    log: string,
    createdAt: number,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const deliveryKeys = [keys.delivery(endpointId, eventId), keys.deliveries(endpointId)];
    return (await RETURN_LOG(target, deliveryKeys, [log, this.retention.ageMs, createdAt, eventId])) === 1;
  }

  /** Put an event back into its account's list. */
  async listAgain(
    accountId: AccountId,
    id: EventId,
    createdAt: number,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    await LIST_AGAIN(target, [keys.events(accountId)], [createdAt, id, this.retention.ageMs]);
  }
}

import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { EndStatus } from '../domain/delivery-log';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import type { ScriptTarget } from '../platform/redis-script';
import { storedMsOf } from './redis-event-index';
import type { MovedCounts } from './redis-moved';
import {
  listEventAgain,
  pinDelivery,
  pinEvent,
  returnEvent,
  returnLog,
  returnReceiver,
  unpin,
} from './redis-recalled.script';

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
    const [event, hasDelivery] = await Promise.all([
      pinEvent({ account: accountId, event: eventId, pinnedMs: PINNED_FOR_MS })(target),
      pinDelivery({ endpoint: endpointId, event: eventId, pinnedMs: PINNED_FOR_MS })(target),
    ]);
    return event.isHere && (hasDelivery || !event.haveSomeMoved);
  }

  /** Once what was pinned has its job, or is not sent. */
  async unpin(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    await Promise.all([
      unpin({ pinned: keys.pinnedEvent(accountId, eventId) })(target),
      unpin({ pinned: keys.pinned(endpointId, eventId) })(target),
    ]);
  }

  /** Put an event back, unless it is here. Gives whether it is back. */
  async returnEvent(
    { accountId, eventId, text, counts }: ReturnedEvent,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const moved = { statuses: Object.keys(counts), counts: Object.values(counts) };
    const keptMs = storedMsOf(this.retention);
    return await returnEvent({ account: accountId, event: eventId, text, keptMs, ...moved })(target);
  }

  /** Put an endpoint back among an event's receivers. It is not counted as moved any more. */
  async returnReceiver(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    status: EndStatus,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const receiver = { account: accountId, event: eventId, endpoint: endpointId };
    await returnReceiver({ ...receiver, keptMs: storedMsOf(this.retention), status })(target);
  }

  /** Put a delivery's log back, unless there is one. Gives whether it is back. */
  async returnLog(
    { endpointId, eventId }: DeliveryParts,
    log: string,
    createdAt: number,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const delivery = { endpoint: endpointId, event: eventId };
    return await returnLog({ ...delivery, text: log, keptMs: this.retention.ageMs, createdAt })(target);
  }

  /** Put an event back into its account's list. */
  async listAgain(
    accountId: AccountId,
    id: EventId,
    createdAt: number,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const keptMs = this.retention.ageMs;
    await listEventAgain({ account: accountId, event: id, createdAt, keptMs })(target);
  }
}

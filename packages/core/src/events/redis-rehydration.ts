import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { EndStatus } from '../domain/delivery-log';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
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
} from './redis-rehydration.script';

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
export class RehydrationStore {
  constructor(private readonly retention: { readonly ageMs: number }) {}

  /**
   * Keep what is about to be sent again from moving for a minute. Gives whether all there is of event and delivery is here.
   */
  pin(accountId: AccountId, { endpointId, eventId }: DeliveryParts): Step<boolean> {
    const ofEvent = pinEvent({ account: accountId, event: eventId, pinnedMs: PINNED_FOR_MS });
    const ofDelivery = pinDelivery({ endpoint: endpointId, event: eventId, pinnedMs: PINNED_FOR_MS });
    return async (target) => {
      const [event, delivery] = await Promise.all([ofEvent(target), ofDelivery(target)]);
      const mayHaveMoved = delivery === 'away' || (delivery === 'unknown' && event.haveSomeMoved);
      return event.isHere && !mayHaveMoved;
    };
  }

  /** Once what was pinned has its job, or is not sent. */
  unpin(accountId: AccountId, { endpointId, eventId }: DeliveryParts): Step {
    const pinned = [keys.pinnedEvent(accountId, eventId), keys.pinned(endpointId, eventId)];
    return together(pinned.map((key) => unpin({ pinned: key })));
  }

  /** Put an event back, unless it is here. Gives whether it is back. */
  returnEvent({ accountId, eventId, text, counts }: ReturnedEvent): Step<boolean> {
    return returnEvent({
      account: accountId,
      event: eventId,
      text,
      keptMs: storedMsOf(this.retention),
      statuses: Object.keys(counts),
      counts: Object.values(counts),
    });
  }

  /** Put an endpoint back among an event's receivers. It is not counted as moved any more. */
  returnReceiver(
    accountId: AccountId,
    { endpointId, eventId }: DeliveryParts,
    status: EndStatus,
  ): Step<void> {
    const keptMs = storedMsOf(this.retention);
    return returnReceiver({ account: accountId, event: eventId, endpoint: endpointId, keptMs, status });
  }

  /** Put a delivery's log back, unless there is one. Gives whether it is back. */
  returnLog({ endpointId, eventId }: DeliveryParts, log: string, createdAt: number): Step<boolean> {
    const keptMs = this.retention.ageMs;
    return returnLog({ endpoint: endpointId, event: eventId, text: log, keptMs, createdAt });
  }

  /** Put an event back into its account's list. */
  listAgain(accountId: AccountId, id: EventId, createdAt: number): Step<void> {
    return listEventAgain({ account: accountId, event: id, createdAt, keptMs: this.retention.ageMs });
  }
}

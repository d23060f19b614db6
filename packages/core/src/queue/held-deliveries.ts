import type { AccountId } from '../domain/account';
import type { HoldReason } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';

/** A delivery that is held, with its place among those of its endpoint. */
export interface HeldDelivery {
  readonly eventId: EventId;
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
}

/** An endpoint, with whose it is: as much as it takes to look at it. */
export interface EndpointAddress {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
}

export interface ReleaseRequest {
  /** At most so many of them, those whose events were accepted first. */
  readonly most: number;
  /** This one alone. */
  readonly only?: EventId | undefined;
  /** What `lookDueAt` gave at the beginning of the look. */
  readonly wakeUpWasDueAt: number | undefined;
  /** When to look again, if some stay. Milliseconds since the Unix epoch. */
  readonly wakeUpAgainAt: number;
  readonly now: number;
}

export interface Released {
  readonly released: number;
  /** Whether the one that alone was wanted has no job at all. */
  readonly isMissing: boolean;
  /** How many are held still. */
  readonly left: number;
}

/**
 * Deliveries that are held: each is a delayed job, and has an entry here that says so. The job comes back by itself when
 * its delay is over, whatever becomes of the entry; the entry is how it is found before that.
 */
export interface HeldDeliveries {
  /**
   * Enters a delivery whose job is about to be delayed, and asks for a look at its endpoint. Twice is once.
   *
   * @param alongForMs given: some of the endpoint's others, those that would be taken next, are held along with it, without
   *   being taken for that. Their jobs come back by themselves after so many milliseconds, or some time later.
   * @returns the events of those that were held along.
   */
  enter(
    address: EndpointAddress,
    delivery: HeldDelivery,
    wakeUpAt: number,
    reason: HoldReason,
    alongForMs?: number,
  ): Promise<readonly EventId[]>;
  /** Puts jobs back onto the queue. An entry goes with that, or when its job turns out not to be delayed any more. */
  release(address: EndpointAddress, request: ReleaseRequest): Promise<Released>;
  /** Asks for a look at an endpoint, unless there will be one before. */
  askForWakeUp(address: EndpointAddress, at: number): Promise<void>;
  wakeUpDueAt(address: EndpointAddress): Promise<number | undefined>;
  /** All that are held of an endpoint's, page by page, those whose events were accepted first at the beginning. */
  pagesOf(endpointId: EndpointId): AsyncIterable<readonly HeldDelivery[]>;
  /** Some of those whose look is due, to one caller: they are due again soon, in case it does not come to it. */
  claimDueWakeUps(now: number, most: number): Promise<readonly EndpointAddress[]>;
}

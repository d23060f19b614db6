import type { AccountQuota } from '../accounts/account-quota';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import type { EventTypes } from '../accounts/event-types/event-types';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import type { UsageStore } from '../accounts/redis-usage-store';
import type { AcceptedEvent } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { BeginSpan } from '../domain/trace';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import type { EndpointsVersion, Subscriptions } from '../endpoints/subscriptions';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EndedList } from '../events/redis-ended-list';
import type { EventStore } from '../events/redis-event-store';
import type { MovedIds } from '../events/redis-moved-ids';
import type { ScheduledEventStore } from '../events/redis-scheduled-event-store';
import type { Turns } from '../platform/batches';
import type { Clock } from '../platform/clock';
import { GatheredWork } from '../platform/end-of-turn';
import type { Atomic } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import type { Intake } from './intake';
import type { Assumption } from './redis-assumption';
import type { EventClaimStore } from './redis-event-claim-store';
import type { IdempotencyStore } from './redis-idempotency-store';

/** The parts of publishing. All steps of an event's way get the same object. */
export interface PublishingParts {
  readonly eventTypes: EventTypes;
  readonly eventTypeStore: EventTypeStore;
  readonly endpointStore: EndpointStore;
  readonly subscriptions: Subscriptions;
  readonly quota: AccountQuota;
  readonly usageStore: UsageStore;
  readonly auditLog: AuditLog;
  readonly eventClaims: EventClaimStore;
  readonly idempotencyStore: IdempotencyStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly besideLanes: BesideLanes;
  readonly scheduledEventStore: ScheduledEventStore;
  /** Absent: there is no history that an event moves to. */
  readonly movedIds?: MovedIds | undefined;
  /** The same. */
  readonly endedList?: EndedList | undefined;
  /** Absent: Redis alone has an event before it is accepted. */
  readonly intake?: Intake | undefined;
  readonly eventQueue: EventQueue;
  readonly deliveryQueue: DeliveryQueue;
  readonly scheduledQueue: ScheduledQueue;
  /** On the Redis of all of these. */
  readonly atomic: Atomic;
  /** The most bytes of a body in UTF-8. */
  readonly maxEventBytes: number;
  /** How far ahead `deliverAt` may be. */
  readonly scheduleMaxMs: number;
  /** How long events are kept after they were due. */
  readonly retention: { readonly ageMs: number };
  /** Events whose filters take long are routed one after the other. */
  readonly routingTurns: Turns;
  /** Fan-outs of several batches store them one after the other. */
  readonly fanOutTurns: Turns;
  readonly fanOuts: FanOuts;
  /** Undefined where traces are not wanted. Nobody may forget to say so. */
  readonly beginSpan: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The known facts about a request that publishes, before its events are stored. */
export interface Premise {
  /** The version of its account's endpoints, if it was read together with the key: since the request came. */
  readonly endpointsVersion?: Promise<EndpointsVersion> | undefined;
  /** Instead: the cached facts by which the request was admitted. Redis compares them before it stores anything. */
  readonly assumption?: Assumption | undefined;
  /** A step that fails once another request has taken this one over, if it has an Idempotency-Key. */
  readonly requireClaim?: Step | undefined;
  /** The name of the response that is kept, if it has one. */
  readonly answer?: string | undefined;
  /** Instead: Redis has lost some of what is stored. What it knows of the event's id does not count. */
  readonly isLost?: boolean;
}

/** An event with its receivers. */
export interface RoutedEvent {
  readonly event: AcceptedEvent;
  readonly receivers: readonly Subscriber[];
  /** Whether its publisher waits: it goes behind all events that were accepted before. Not one from the queue of events. */
  readonly isNew?: boolean | undefined;
}

/** An account's events, divided by who fans them out. */
export interface RoutedEvents {
  /** They have few receivers, which were found quickly. */
  readonly here: readonly RoutedEvent[];
  /** A worker finds their receivers. */
  readonly elsewhere: readonly AcceptedEvent[];
}

/** Some of an event's receivers: nearly always all of them. */
export interface Portion extends RoutedEvent {
  /** The event is stored with this portion. */
  readonly isFirst: boolean;
  /** The event is complete with this portion: the total number of receivers. */
  readonly total: number | undefined;
}

/** The portions of one fan-out that are stored together with those of others in the same turn of the event loop. */
export interface GatheredPortions {
  readonly portions: readonly Portion[];
  readonly premise: Premise;
  /** Those of its events that are not sent, as turns out when they are stored. */
  readonly refused: AcceptedEvent[];
  isAlone: boolean;
}

/**
 * So many receivers and events are stored at once. Large enough that Redis is the limit, small enough that they do not hold
 * up the event loop: a few milliseconds.
 */
export const STORED_AT_ONCE = 50;

/** The fan-outs of a process: those of one account in one turn of the event loop go together. */
export class FanOuts extends GatheredWork<GatheredPortions> {
  constructor() {
    super(STORED_AT_ONCE + 1);
  }
}

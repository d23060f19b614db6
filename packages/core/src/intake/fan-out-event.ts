import { chunksOf } from '../kernel/batches';
import type { Clock } from '../kernel/clock';
import type { InOrder } from '../kernel/redis-in-order';
import type { ScriptTarget } from '../kernel/redis-script';
import { createTurns } from '../kernel/turns';
import type { DeliveryParts } from '../model/delivery';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { Emit } from '../model/signal';
import type { BeginSpan, Span } from '../model/trace';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { EventStore } from '../record/redis-event-store';
import type { RoutedEvent } from './route-event';
import { traceEvent } from './trace-event';

export interface NewDelivery extends DeliveryParts {
  readonly accountId: AccountId;
  /** When its event was accepted, if that is at hand. Milliseconds since the Unix epoch. */
  readonly acceptedAt?: number;
}

/** The queue of deliveries. Adding the same delivery again is harmless. */
export interface DeliveryQueue {
  /** When it throws, they may be on the queue all the same. */
  addAll(deliveries: readonly NewDelivery[], target?: ScriptTarget): Promise<void>;
}

/** The order of the deliveries of an endpoint that wants them one at a time. */
export interface DeliveryOrder {
  /** Those that are in it stay where they are. */
  joinOrder(
    endpointId: EndpointId,
    deliveries: readonly { readonly eventId: EventId; readonly acceptedAt: number }[],
    target?: ScriptTarget,
  ): Promise<void>;
}

interface TracedRoute extends RoutedEvent {
  /** Absent where traces are not wanted. */
  readonly span?: Span;
}

/** Some of those that an event goes to: nearly always all of them. */
interface Portion extends RoutedEvent {
  /** The event is stored with these. */
  readonly isFirst: boolean;
  /** With these it is complete: how many there are altogether. */
  readonly total: number | undefined;
}

export interface FanOutEventDeps {
  readonly eventStore: Pick<EventStore, 'save' | 'enlist' | 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlist'>;
  readonly admissionStore: DeliveryOrder;
  readonly deliveryQueue: DeliveryQueue;
  /** Of the Redis that all of these have. */
  readonly inOrder: InOrder;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop: a few milliseconds.
const CHUNK = 50;

/**
 * Makes a delivery of each event for each of its receivers. It may be run again, in whole or after it broke off anywhere:
 * every step is harmless when repeated.
 *
 * The event is stored before there is a job that needs it, and a job is on the queue before any list tells of its
 * delivery: what breaks off in the middle leaves no delivery that looks as if it were to be sent and never is.
 */
export function createFanOutEvent(deps: FanOutEventDeps) {
  const { eventStore, deliveryStore, admissionStore, deliveryQueue, inOrder, beginSpan } = deps;
  const takeTurn = createTurns();

  return async function fanOutEvent(routed: readonly RoutedEvent[]): Promise<void> {
    const startedAt = deps.clock();
    const traced: readonly TracedRoute[] = beginSpan
      ? routed.map((route) => ({ ...route, ...traceEvent(route.event, beginSpan, startedAt) }))
      : routed;
    const batches = batchesOf(traced.flatMap(portionsOf));
    const inTurn = batches.length > 1 ? takeTurn : atOnce;
    for (const batch of batches) await inTurn(() => take(batch));
    const durationMs = deps.clock() - startedAt;
    for (const one of traced) announce(one, durationMs);
  };

  async function take(batch: readonly Portion[]): Promise<void> {
    await inOrder([
      (target) => Promise.all(batch.map((portion) => store(portion, target))),
      (target) => deliveryQueue.addAll(batch.flatMap(deliveriesOf), target),
      (target) => Promise.all(batch.map((portion) => list(portion, target))),
    ]);
  }

  async function store({ event, receivers, isFirst }: Portion, target: ScriptTarget): Promise<void> {
    const endpointIds = receivers.map(({ id }) => id);
    if (isFirst) await eventStore.save(event, endpointIds, target);
    else await eventStore.addReceivers(event.accountId, event.id, endpointIds, target);
  }

  async function list({ event, receivers, total }: Portion, target: ScriptTarget): Promise<void> {
    const { id: eventId, acceptedAt, accountId } = event;
    const endpointIds = receivers.map(({ id }) => id);
    const strict = receivers.filter(({ ordering }) => ordering === 'strict');
    await Promise.all([
      deliveryStore.enlist(eventId, endpointIds, acceptedAt, accountId, target),
      ...strict.map(({ id }) => admissionStore.joinOrder(id, [{ eventId, acceptedAt }], target)),
      total === undefined ? undefined : eventStore.enlist(event, total, target),
    ]);
  }

  function announce({ event, receivers, span }: TracedRoute, durationMs: number): void {
    deps.emit({
      name: 'event.fanned_out',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      deliveries: receivers.length,
      receivers,
      acceptedAt: event.acceptedAt,
      durationMs,
      ...(span === undefined ? {} : { span }),
    });
  }
}

export type FanOutEvent = ReturnType<typeof createFanOutEvent>;

function portionsOf({ event, receivers }: RoutedEvent): readonly Portion[] {
  const chunks = receivers.length === 0 ? [[]] : chunksOf(receivers, CHUNK);
  return chunks.map((chunk, i) => ({
    event,
    receivers: chunk,
    isFirst: i === 0,
    total: i === chunks.length - 1 ? receivers.length : undefined,
  }));
}

/** Small ones go together. */
function batchesOf(portions: readonly Portion[]): readonly (readonly Portion[])[] {
  const batches: Portion[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const portion of portions) {
    const ownSize = 1 + portion.receivers.length;
    if (size + ownSize > CHUNK + 1) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(portion);
    size += ownSize;
  }
  return batches;
}

function atOnce<Result>(work: () => Promise<Result>): Promise<Result> {
  return work();
}

function deliveriesOf({ event, receivers }: Portion): readonly NewDelivery[] {
  const { accountId, id: eventId, acceptedAt } = event;
  return receivers.map(({ id: endpointId }) => ({ accountId, eventId, endpointId, acceptedAt }));
}

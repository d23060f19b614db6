import { setImmediate } from 'node:timers/promises';
import type { NewDelivery } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import { type AcceptedEvent, dataOf } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { BeginSpan, Span } from '../domain/trace';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import type { AccountSubscriptions, EndpointsVersion, Subscriptions } from '../endpoints/subscriptions';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf, type Turns } from '../platform/batches';
import { type Clock, steadyClock } from '../platform/clock';
import type { InOrder, ScriptTarget, Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { Assumption } from './redis-assumption';

export interface DispatchEventsContext extends RouteEventContext, FanOutContext {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
  readonly eventQueue: Pick<EventQueue, 'addAll'>;
}

/** What is known of events' account before they are dispatched. */
export interface EventsPremise {
  /** The version of the account's endpoints, if its read has begun since the events arrived. */
  readonly endpointsVersion?: Promise<EndpointsVersion> | undefined;
  /** Instead: what their request was let in by. Redis compares it before it stores anything. */
  readonly assumption?: Assumption | undefined;
}

/** A worker fans out an event with more receivers than these: its publisher does not wait for that. */
const MOST_RECEIVERS = 32;
/** The same for the deliveries of all events of a request together. */
const MOST_DELIVERIES = 1_000;
/** The same for the filters that are evaluated for a request, together, and for the data that one reads. */
const MOST_FILTER_CHARACTERS = 64 * 1024;
const MOST_FILTERED_CHARACTERS = 16 * 1024;

/**
 * Dispatch an account's events: those with few receivers that are found quickly to the queue of deliveries at
 * once, others to the queue of events, where a worker does the same. Resolves once Redis has everything it
 * needs. Repeating it is harmless.
 *
 * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
 */
export async function dispatchEvents(
  context: DispatchEventsContext,
  events: readonly AcceptedEvent[],
  { endpointsVersion, assumption }: EventsPremise = {},
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const version = assumption?.assumed.endpointsVersion ?? endpointsVersion;
  const subscriptions = await context.subscriptions.current(first.accountId, version);
  const { here, elsewhere } = await divide(context, events, subscriptions);
  if (elsewhere.length > 0) {
    // Before either part: the other one would stay when this one does not hold.
    await assumption?.confirm();
    await Promise.all([fanOutEvents(context, here, assumption), enqueue(context, elsewhere)]);
  } else await fanOutEvents(context, here, assumption);
}

// Split at the first event that is too much, so that an account's events keep their order.
async function divide(
  context: RouteEventContext,
  events: readonly AcceptedEvent[],
  subscriptions: AccountSubscriptions,
) {
  const here: RoutedEvent[] = [];
  let deliveries = 0;
  let filtering = 0;
  for (const [index, event] of events.entries()) {
    filtering += filteringOf(event, subscriptions);
    const routed =
      filtering > MOST_FILTER_CHARACTERS ? undefined : await routeEvent(context, event, subscriptions);
    deliveries += routed?.receivers.length ?? 0;
    if (!routed || routed.receivers.length > MOST_RECEIVERS || deliveries > MOST_DELIVERIES) {
      return { here, elsewhere: events.slice(index) };
    }
    here.push(routed);
  }
  return { here, elsewhere: [] };
}

async function enqueue(
  { eventQueue, beginSpan, clock, emit }: DispatchEventsContext,
  events: readonly AcceptedEvent[],
): Promise<void> {
  const startedAt = clock();
  const traced = events.map((event) => traceEvent(event, beginSpan, startedAt));
  await eventQueue.addAll(traced.map(({ event }) => event));
  const durationMs = clock() - startedAt;
  for (const { event, span } of traced) {
    emit({
      name: 'event.queued',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      durationMs,
      ...(span === undefined ? {} : { span }),
    });
  }
}

/** The cost of evaluating the filters: their length in characters, as far as that tells it. */
function filteringOf(
  { type, body, endpointIds }: AcceptedEvent,
  subscriptions: AccountSubscriptions,
): number {
  const length = endpointIds === undefined ? subscriptions.subscribedTo(type).filterLength : 0;
  return length > 0 && body.length > MOST_FILTERED_CHARACTERS ? Number.POSITIVE_INFINITY : length;
}

export interface RouteEventContext {
  readonly routingTurns: Turns;
}

/** An event with its receivers. */
interface RoutedEvent {
  readonly event: AcceptedEvent;
  readonly receivers: readonly Subscriber[];
}

// Other work waits for this long at most, apart from a single filter, and parsing the data.
const SLICE_MS = 5;

/**
 * Find the receivers of an event: the account's subscribers of its type whose filter lets its data pass, or
 * the endpoints that it is aimed at, whatever they subscribe to. The data are parsed only if an endpoint has
 * a filter, and once.
 *
 * Where many have a filter, other work runs in between; then the events are routed one after the other.
 */
export async function routeEvent(
  { routingTurns }: RouteEventContext,
  event: AcceptedEvent,
  subscriptions: AccountSubscriptions,
): Promise<RoutedEvent> {
  const { type, endpointIds } = event;
  if (endpointIds !== undefined) return { event, receivers: subscriptions.presentOf(endpointIds) };
  const { subscribers, filterLength } = subscriptions.subscribedTo(type);
  if (filterLength === 0) return { event, receivers: subscribers };
  const passes = passesOf(event, subscriptions);
  const receivers: Subscriber[] = [];
  for (let next = 0; next < subscribers.length; ) {
    const slice = () => {
      next = takeSlice(subscribers, next, passes, receivers);
    };
    if (next === 0) slice();
    else await routingTurns.take(() => setImmediate().then(slice));
  }
  return { event, receivers };
}

type Passes = (subscriber: Subscriber) => boolean;

function passesOf({ body }: AcceptedEvent, { compiled }: AccountSubscriptions): Passes {
  const data = dataOf(body);
  return ({ filter }) => filter === undefined || compiled(filter).matches(data);
}

/** Add those from `start` on that pass to `receivers`, until the time is over. Gives where to go on. */
function takeSlice(
  subscribers: readonly Subscriber[],
  start: number,
  passes: Passes,
  receivers: Subscriber[],
): number {
  const endsAt = steadyClock() + SLICE_MS;
  let at = start;
  for (; at < subscribers.length && steadyClock() < endsAt; at += 1) {
    const subscriber = subscribers[at];
    if (subscriber && passes(subscriber)) receivers.push(subscriber);
  }
  return at;
}

/** Some of an event's receivers: nearly always all of them. */
interface Portion extends RoutedEvent {
  /** The event is stored with this portion. */
  readonly isFirst: boolean;
  /** The event is complete with this portion: the total number of receivers. */
  readonly total: number | undefined;
}

export interface FanOutContext {
  readonly eventStore: Pick<EventStore, 'save' | 'enlistAll' | 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlistAll'>;
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'addAll'>;
  /** On the Redis of all of these. */
  readonly inOrder: InOrder;
  readonly fanOutTurns: Turns;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop: a few
// milliseconds.
const CHUNK = 50;

/**
 * Make a delivery of each event for each of its receivers. It may be run again, completely or after it broke
 * off anywhere: every step is harmless when repeated.
 *
 * The event is stored before a job exists that needs it, and a job is on the queue before any list shows its
 * delivery. So an interrupted run leaves no delivery that looks pending and is never sent.
 */
export async function fanOutEvents(
  context: FanOutContext,
  routed: readonly RoutedEvent[],
  assumption?: Assumption,
): Promise<void> {
  const { fanOutTurns, beginSpan, clock, emit } = context;
  const startedAt = clock();
  const traced = routed.map((route) => ({ ...route, ...traceEvent(route.event, beginSpan, startedAt) }));
  const batches = batchesOf(traced.flatMap(portionsOf));
  for (const batch of batches) {
    if (batches.length === 1) await take(context, batch, assumption);
    else await fanOutTurns.take(() => take(context, batch, assumption));
  }
  const durationMs = clock() - startedAt;
  for (const { event, receivers, span } of traced) {
    emit({
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

async function take(
  context: FanOutContext,
  batch: readonly Portion[],
  assumption: Assumption | undefined,
): Promise<void> {
  const steps: readonly Step[] = [
    (target) => Promise.all(batch.map((portion) => store(context, portion, target))),
    (target) => context.deliveryQueue.addAll(batch.flatMap(deliveriesOf), target),
    (target) => list(context, batch, target),
  ];
  await (assumption ? assumption.inOrder(steps) : context.inOrder(steps));
}

async function store(
  { eventStore }: FanOutContext,
  { event, receivers, isFirst }: Portion,
  target: ScriptTarget,
): Promise<void> {
  const endpointIds = receivers.map(({ id }) => id);
  if (isFirst) await eventStore.save(event, endpointIds, target);
  else await eventStore.addReceivers(event.accountId, event.id, endpointIds, target);
}

/** An endpoint with the events that it gets. */
interface Listed {
  readonly receiver: Subscriber;
  readonly events: AcceptedEvent[];
}

// One call for all events of an endpoint, and one for those of the account.
async function list(
  { deliveryStore, admissionStore, eventStore }: FanOutContext,
  batch: readonly Portion[],
  target: ScriptTarget,
): Promise<void> {
  const complete: { readonly event: AcceptedEvent; readonly deliveries: number }[] = [];
  const byReceiver = new Map<EndpointId, Listed>();
  for (const { event, receivers, total } of batch) {
    if (total !== undefined) complete.push({ event, deliveries: total });
    for (const receiver of receivers) {
      const listed = byReceiver.get(receiver.id);
      if (listed) listed.events.push(event);
      else byReceiver.set(receiver.id, { receiver, events: [event] });
    }
  }
  const steps: Promise<void>[] = [];
  for (const { receiver, events } of byReceiver.values()) {
    const marks = events.map(({ id: eventId, acceptedAt: createdAt }) => ({ eventId, createdAt }));
    steps.push(deliveryStore.enlistAll(receiver.id, marks, events[0]?.accountId, target));
    if (receiver.ordering !== 'strict') continue;
    const places = events.map(({ id: eventId, acceptedAt }) => ({ eventId, acceptedAt }));
    steps.push(admissionStore.joinOrder(receiver.id, places, target));
  }
  if (complete.length > 0) steps.push(eventStore.enlistAll(complete, target));
  await Promise.all(steps);
}

function portionsOf({ event, receivers }: RoutedEvent): readonly Portion[] {
  const chunks = receivers.length === 0 ? [[]] : chunksOf(receivers, CHUNK);
  return chunks.map((chunk, i) => ({
    event,
    receivers: chunk,
    isFirst: i === 0,
    total: i === chunks.length - 1 ? receivers.length : undefined,
  }));
}

/** Small portions go together. */
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

function deliveriesOf({ event, receivers }: Portion): readonly NewDelivery[] {
  const { accountId, id: eventId, acceptedAt } = event;
  return receivers.map(({ id: endpointId }) => ({ accountId, eventId, endpointId, acceptedAt }));
}

/** An event with its span, on its way to the next step. */
interface TracedEvent {
  readonly event: AcceptedEvent;
  /** Absent where traces are not wanted. */
  readonly span?: Span;
}

/**
 * Begin a step in the processing of an event, if traces are wanted. In the event's trace, later steps are
 * below it.
 */
function traceEvent(event: AcceptedEvent, beginSpan: BeginSpan | undefined, startedAt: number): TracedEvent {
  if (beginSpan === undefined) return { event };
  const span = beginSpan({ parent: event.trace, startedAt });
  return { event: { ...event, trace: span.context }, span };
}

import { setImmediate } from 'node:timers/promises';
import { type AcceptedEvent, dataOf } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { BeginSpan, Span } from '../domain/trace';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import type { AccountSubscriptions, EndpointsVersion, Subscriptions } from '../endpoints/subscriptions';
import type { Turns } from '../platform/batches';
import { steadyClock } from '../platform/clock';
import type { Step } from '../platform/redis-script';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { Assumption } from './redis-assumption';
import { batchesOf, type RoutedEvent, type StoreFanOutContext, storeAlong } from './store-fan-out';

export interface DispatchEventsContext extends RouteEventContext, FanOutContext {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
  readonly eventQueue: Pick<EventQueue, 'addAll'>;
}

/** The known facts about the events' account before they are dispatched. */
export interface EventsPremise {
  /** The version of the account's endpoints, if its read has begun since the events arrived. */
  readonly endpointsVersion?: Promise<EndpointsVersion> | undefined;
  /** Instead: the cached facts by which their request was admitted. Redis compares them before it stores anything. */
  readonly assumption?: Assumption | undefined;
  /** Fails when another request has taken this one over. Nothing is stored then. */
  readonly requireClaim?: Step | undefined;
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
  { endpointsVersion, assumption, requireClaim }: EventsPremise = {},
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const version = assumption?.assumed.endpointsVersion ?? endpointsVersion;
  const subscriptions = await context.subscriptions.current(first.accountId, version);
  const { here, elsewhere } = await divide(context, events, subscriptions);
  if (elsewhere.length > 0) {
    // Before both parts. Otherwise one part would be stored although the assumption does not hold.
    await assumption?.confirm();
    await Promise.all([
      fanOutEvents(context, here, { assumption, requireClaim }),
      enqueue(context, elsewhere),
    ]);
  } else await fanOutEvents(context, here, { assumption, requireClaim });
}

// Split at the first event that exceeds the limit, so that an account's events keep their order.
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
    here.push({ event, receivers: routed.receivers, isNew: true });
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

/** The estimated cost of evaluating the filters: their length in characters. */
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

export interface FanOutContext extends StoreFanOutContext {
  readonly fanOutTurns: Turns;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly emit: Emit;
}

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
  premise: Pick<EventsPremise, 'assumption' | 'requireClaim'> = {},
): Promise<void> {
  const { fanOutTurns, beginSpan, clock, emit } = context;
  const startedAt = clock();
  const traced = routed.map((route) => ({ ...route, ...traceEvent(route.event, beginSpan, startedAt) }));
  const batches = batchesOf(traced);
  const refused = new Set<AcceptedEvent>();
  for (const batch of batches) {
    const portions = refused.size === 0 ? batch : batch.filter(({ event }) => !refused.has(event));
    const store = () => storeAlong(context, portions, premise);
    const some = batches.length === 1 ? await store() : await fanOutTurns.take(store);
    for (const event of some) refused.add(event);
  }
  const durationMs = clock() - startedAt;
  for (const { event, receivers, span } of traced) {
    if (refused.has(event)) continue;
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

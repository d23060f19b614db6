import { setImmediate } from 'node:timers/promises';
import type { NewDelivery } from '../domain/delivery';
import { type EndpointId, lineOf, placeInOrder } from '../domain/endpoint';
import { type AcceptedEvent, dataOf } from '../domain/event';
import type { BeginSpan, Span } from '../domain/trace';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import type { AccountSubscriptions } from '../endpoints/subscriptions';
import { mayBeKnown } from '../events/redis-moved-ids';
import { chunksOf } from '../platform/batches';
import { steadyClock } from '../platform/clock';
import { together } from '../platform/redis-atomic';
import { isDataError, type Step } from '../platform/redis-script';
import {
  type GatheredPortions,
  type Portion,
  type Premise,
  type PublishingParts,
  type RoutedEvent,
  type RoutedEvents,
  STORED_AT_ONCE,
} from './publishing-parts';

/** A worker fans out an event with more receivers than these: its publisher does not wait for that. */
const MOST_RECEIVERS = 32;
/** The same for the deliveries of all events of a request together. */
const MOST_DELIVERIES = 1_000;
/** The same for the filters that are evaluated for a request, together, and for the data that one reads. */
const MOST_FILTER_CHARACTERS = 64 * 1024;
const MOST_FILTERED_CHARACTERS = 16 * 1024;

const NO_EVENTS: RoutedEvents = { here: [], elsewhere: [] };

/** Find the receivers of an account's events, as far as they are few and are found quickly. */
export async function routeEvents(
  parts: PublishingParts,
  events: readonly AcceptedEvent[],
  { endpointsVersion, assumption }: Premise = {},
): Promise<RoutedEvents> {
  const [first] = events;
  if (first === undefined) return NO_EVENTS;
  const version = assumption?.assumed.endpointsVersion ?? endpointsVersion;
  const subscriptions = await parts.subscriptions.current(first.accountId, version);
  return await divide(parts, events, subscriptions);
}

/**
 * Dispatch an account's events: those with receivers to the queue of deliveries at once, others to the queue of events, where
 * a worker does the same. Resolves once Redis has everything it needs. Repeating it is harmless.
 *
 * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
 */
export async function dispatchEvents(
  parts: PublishingParts,
  { here, elsewhere }: RoutedEvents,
  premise: Premise = {},
): Promise<void> {
  if (elsewhere.length > 0) {
    // Before both parts. Otherwise one part would be stored although the assumption does not hold.
    await premise.assumption?.confirm();
    await Promise.all([fanOutEvents(parts, here, premise), enqueue(parts, elsewhere)]);
  } else if (here.length > 0) await fanOutEvents(parts, here, premise);
}

// Split at the first event that exceeds the limit, so that an account's events keep their order.
async function divide(
  parts: PublishingParts,
  events: readonly AcceptedEvent[],
  subscriptions: AccountSubscriptions,
): Promise<RoutedEvents> {
  const here: RoutedEvent[] = [];
  let deliveries = 0;
  let filtering = 0;
  for (const [index, event] of events.entries()) {
    filtering += filteringOf(event, subscriptions);
    const routed =
      filtering > MOST_FILTER_CHARACTERS ? undefined : await routeEvent(parts, event, subscriptions);
    deliveries += routed?.receivers.length ?? 0;
    if (!routed || routed.receivers.length > MOST_RECEIVERS || deliveries > MOST_DELIVERIES) {
      return { here, elsewhere: events.slice(index) };
    }
    here.push({ event, receivers: routed.receivers, isNew: true });
  }
  return { here, elsewhere: [] };
}

async function enqueue(
  { eventQueue, beginSpan, clock, emit }: PublishingParts,
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
  { routingTurns }: PublishingParts,
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

/**
 * Make a delivery of each event for each of its receivers. It may be run again, completely or after it broke
 * off anywhere: every step is harmless when repeated.
 *
 * The event is stored before a job exists that needs it, and a job is on the queue before any list shows its
 * delivery. So an interrupted run leaves no delivery that looks pending and is never sent.
 */
export async function fanOutEvents(
  parts: PublishingParts,
  routed: readonly RoutedEvent[],
  premise: Premise = {},
): Promise<void> {
  const { fanOutTurns, beginSpan, clock, emit } = parts;
  const startedAt = clock();
  const traced = routed.map((route) => ({ ...route, ...traceEvent(route.event, beginSpan, startedAt) }));
  const batches = batchesOf(traced);
  const refused = new Set<AcceptedEvent>();
  for (const batch of batches) {
    const portions = refused.size === 0 ? batch : batch.filter(({ event }) => !refused.has(event));
    const store = () => storeWithOthers(parts, portions, premise);
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

/**
 * Store one batch, together with others of the same turn of the event loop. It is harmless when repeated.
 *
 * @returns the events of it that are not sent: one of the same id waits for its time, was cancelled, or was
 *   sent to all its receivers before.
 */
async function storeWithOthers(
  parts: PublishingParts,
  portions: readonly Portion[],
  premise: Premise,
): Promise<readonly AcceptedEvent[]> {
  const own: GatheredPortions = { portions, premise, refused: [], isAlone: true };
  const name = premise.assumption?.name ?? portions[0]?.event.accountId ?? '';
  try {
    await parts.fanOuts.add(name, own, sizeOf(portions), (gathered) => storeAll(parts, gathered));
  } catch (error) {
    // What failed may have been the data of another one.
    if (own.isAlone || !isDataError(error)) throw error;
    await storeAll(parts, [own]);
  }
  return own.refused;
}

async function storeAll(parts: PublishingParts, gathered: readonly GatheredPortions[]): Promise<void> {
  if (gathered.length > 1) for (const one of gathered) one.isAlone = false;
  const batch = gathered.flatMap(({ portions }) => portions);
  const guarded = gathered.flatMap(({ portions, premise }) =>
    premise.isLost ? [] : portions.map(({ event }) => event),
  );
  const steps: readonly Step[] = [
    ...gathered.flatMap(({ premise }) => premise.requireClaim ?? []),
    ...(parts.movedIds?.guardsUnsent(guarded, parts.clock()) ?? []),
    together(
      gathered.flatMap(({ portions, premise }) => portions.map((one) => stepToStore(parts, one, premise))),
    ),
    parts.deliveryQueue.stepToAdd(batch.flatMap(deliveriesOf)),
    together(listDeliveries(parts, batch)),
    together(listEvents(parts, batch)),
  ];
  const [first, ...others] = gathered.flatMap(({ premise }) => premise.assumption ?? []);
  const results = await (first ? first.atomic(steps, others) : parts.atomic(steps));
  if (results.length < steps.length) await storeOthers(parts, gathered);
}

// An event of the same id waits for its time, was cancelled, or was sent before: then the later one is the same
// event, and is not sent. Its guard has kept all others from being stored as well.
async function storeOthers(parts: PublishingParts, gathered: readonly GatheredPortions[]): Promise<void> {
  const left: GatheredPortions[] = [];
  for (const one of gathered) {
    const next = await Promise.all(one.portions.map(({ event }) => nextOf(parts, event)));
    one.refused.push(...one.portions.filter((_portion, i) => next[i] === 'refuse').map(({ event }) => event));
    const portions = one.portions.filter((_portion, i) => next[i] === 'store');
    if (portions.length > 0) left.push({ ...one, portions });
  }
  if (left.length > 0) await storeAll(parts, left);
}

/** `done`: Redis has run this very request before, over a connection that broke. */
async function nextOf(
  { eventStore, movedIds, clock }: PublishingParts,
  event: AcceptedEvent,
): Promise<'store' | 'refuse' | 'done'> {
  const { accountId, id, isStored } = event;
  if (await movedIds?.wasSent(event, clock())) return mayBeKnown(event) ? 'refuse' : 'done';
  if (await eventStore.hasLapsed(accountId, id)) return mayBeKnown(event) ? 'refuse' : 'done';
  const head = await eventStore.findHead(accountId, id);
  // One that was stored before and is gone was sent, and has moved.
  if (head === undefined) return isStored ? 'refuse' : 'store';
  return head.schedule === undefined || head.schedule.state === 'due' ? 'store' : 'refuse';
}

function stepToStore(
  { eventStore }: PublishingParts,
  { event, receivers, isFirst }: Portion,
  { isLost = false }: Premise,
): Step {
  const endpointIds = receivers.map(({ id }) => id);
  return isFirst
    ? eventStore.save(event, endpointIds, { isLost })
    : eventStore.addReceivers(event.accountId, event.id, endpointIds);
}

/** An endpoint with what it gets. */
interface Listed {
  readonly receiver: Subscriber;
  readonly portions: RoutedEvent[];
}

// One call for all events of an endpoint.
function listDeliveries(
  { deliveryStore, besideLanes }: PublishingParts,
  batch: readonly Portion[],
): readonly Step[] {
  const byReceiver = new Map<EndpointId, Listed>();
  for (const portion of batch) {
    for (const receiver of portion.receivers) {
      const listed = byReceiver.get(receiver.id);
      if (listed) listed.portions.push(portion);
      else byReceiver.set(receiver.id, { receiver, portions: [portion] });
    }
  }
  const lists = [...byReceiver.values()].map(({ receiver, portions }) => ({
    accountId: portions[0]?.event.accountId,
    endpointId: receiver.id,
    marks: portions.map(({ event: { id: eventId, acceptedAt: createdAt } }) => ({ eventId, createdAt })),
  }));
  const steps: Step[] = [deliveryStore.enlistAll(lists)];
  for (const { receiver, portions } of byReceiver.values()) {
    // Lanes keep the order of what is in them.
    if (receiver.ordering === 'none' || receiver.isInLane) continue;
    const places = portions.flatMap(({ event, isNew }) => {
      const { id: eventId, acceptedAt } = event;
      const place = placeInOrder(receiver, event.group);
      return place ? [{ eventId, acceptedAt, isNew, ...place }] : [];
    });
    steps.push(besideLanes.join(receiver.id, places));
  }
  return steps;
}

// Last: an event in its account's list is complete, and a fan-out of it that is repeated has nothing to do.
function listEvents(
  { eventStore, endedList, clock }: PublishingParts,
  batch: readonly Portion[],
): readonly Step[] {
  const complete = batch.flatMap(({ event, total }) =>
    total === undefined ? [] : [{ event, deliveries: total }],
  );
  if (complete.length === 0) return [];
  const steps: Step[] = [eventStore.enlistAll(complete)];
  const ended = complete
    .filter(({ deliveries }) => deliveries === 0)
    .map(({ event: { accountId, id } }) => ({ accountId, eventId: id }));
  if (endedList) steps.push(endedList.addAll(ended, clock()));
  return steps;
}

function portionsOf({ event, receivers, isNew }: RoutedEvent): readonly Portion[] {
  const chunks = receivers.length === 0 ? [[]] : chunksOf(receivers, STORED_AT_ONCE);
  return chunks.map((chunk, i) => ({
    event,
    receivers: chunk,
    isNew,
    isFirst: i === 0,
    total: i === chunks.length - 1 ? receivers.length : undefined,
  }));
}

/** What is stored, in batches. Small portions go together. */
function batchesOf(routed: readonly RoutedEvent[]): readonly (readonly Portion[])[] {
  const batches: Portion[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const portion of routed.flatMap(portionsOf)) {
    const ownSize = sizeOf([portion]);
    if (size + ownSize > STORED_AT_ONCE + 1) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(portion);
    size += ownSize;
  }
  return batches;
}

function sizeOf(portions: readonly Portion[]): number {
  return portions.reduce((size, { receivers }) => size + 1 + receivers.length, 0);
}

function deliveriesOf({ event, receivers, isNew }: Portion): readonly NewDelivery[] {
  const { accountId, id: eventId, acceptedAt } = event;
  return receivers.map(({ id: endpointId, isInLane, ordering }) => {
    const delivery = { accountId, eventId, endpointId, acceptedAt };
    const line = isInLane ? lineOf({ ordering }, event.group) : undefined;
    const waits = isInLane && (ordering !== 'group' || line !== undefined);
    return waits ? { ...delivery, isInLane, line, isInBatches: ordering === 'none', isNew } : delivery;
  });
}

import type { NewDelivery } from '../domain/delivery';
import { type EndpointId, lineToJoin } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { type MovedIds, mayBeKnown } from '../events/redis-moved-ids';
import type { OverList } from '../events/redis-over-list';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import { GatheredWork } from '../platform/end-of-turn';
import { type Atomic, together } from '../platform/redis-atomic';
import { isDataError, type Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { Assumption } from './redis-assumption';

/** An event with its receivers. */
export interface RoutedEvent {
  readonly event: AcceptedEvent;
  readonly receivers: readonly Subscriber[];
  /** Whether its publisher waits: it goes behind all events that were accepted before. Not one from the queue of events. */
  readonly isNew?: boolean | undefined;
}

/** Some of an event's receivers: nearly always all of them. */
export interface Portion extends RoutedEvent {
  /** The event is stored with this portion. */
  readonly isFirst: boolean;
  /** The event is complete with this portion: the total number of receivers. */
  readonly total: number | undefined;
}

export interface StoreFanOutContext {
  readonly eventStore: Pick<EventStore, 'save' | 'enlistAll' | 'addReceivers' | 'findHead'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlistAll'>;
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'stepToAdd'>;
  /** Absent: there is no history that an event moves to. */
  readonly overList?: Pick<OverList, 'addAll'> | undefined;
  /** The same. */
  readonly movedIds?: Pick<MovedIds, 'isSettled' | 'guardsUnsettled'> | undefined;
  /** On the Redis of all of these. */
  readonly atomic: Atomic;
  readonly fanOuts: FanOuts;
  readonly clock: Clock;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop: a few
// milliseconds.
const CHUNK = 50;

/** What is taken along with others of the same turn of the event loop. */
interface Part {
  readonly portions: readonly Portion[];
  readonly assumption?: Assumption | undefined;
  readonly requireClaim?: Step | undefined;
  /** Events that are not sent: see `takeOthers`. */
  readonly refused: AcceptedEvent[];
  isAlone: boolean;
}

/** The parts of a process' fan-outs: those of one account in one turn of the event loop go together. */
export class FanOuts extends GatheredWork<Part> {
  constructor() {
    super(CHUNK + 1);
  }
}

/**
 * Store one batch, along with others of the same turn of the event loop. It is harmless when repeated.
 *
 * @returns the events of it that are not sent: one of the same id waits for its time, was cancelled, or was
 *   sent to all its receivers before.
 */
export async function storeAlong(
  context: StoreFanOutContext,
  portions: readonly Portion[],
  { assumption, requireClaim }: Pick<Part, 'assumption' | 'requireClaim'>,
): Promise<readonly AcceptedEvent[]> {
  const part: Part = { portions, assumption, requireClaim, refused: [], isAlone: true };
  const name = assumption?.name ?? portions[0]?.event.accountId ?? '';
  try {
    await context.fanOuts.add(name, part, sizeOf(portions), (parts) => take(context, parts));
  } catch (error) {
    // What failed may have been the data of another one.
    if (part.isAlone || !isDataError(error)) throw error;
    await take(context, [part]);
  }
  return part.refused;
}

async function take(context: StoreFanOutContext, parts: readonly Part[]): Promise<void> {
  if (parts.length > 1) for (const part of parts) part.isAlone = false;
  const batch = parts.flatMap(({ portions }) => portions);
  const steps: readonly Step[] = [
    ...parts.flatMap(({ requireClaim }) => requireClaim ?? []),
    ...(context.movedIds?.guardsUnsettled(
      batch.map(({ event }) => event),
      context.clock(),
    ) ?? []),
    together(batch.map((portion) => store(context, portion))),
    context.deliveryQueue.stepToAdd(batch.flatMap(deliveriesOf)),
    together(listDeliveries(context, batch)),
    together(listEvents(context, batch)),
  ];
  const [first, ...others] = parts.flatMap(({ assumption }) => assumption ?? []);
  const results = await (first ? first.atomic(steps, others) : context.atomic(steps));
  if (results.length < steps.length) await takeOthers(context, parts);
}

// An event of the same id waits for its time, was cancelled, or was sent before: then the later one is the same
// event, and is not sent. Its guard has kept all others from being stored as well.
async function takeOthers(context: StoreFanOutContext, parts: readonly Part[]): Promise<void> {
  const left: Part[] = [];
  for (const part of parts) {
    const next = await Promise.all(part.portions.map(({ event }) => nextOf(context, event)));
    part.refused.push(
      ...part.portions.filter((_portion, i) => next[i] === 'refuse').map(({ event }) => event),
    );
    const portions = part.portions.filter((_portion, i) => next[i] === 'store');
    if (portions.length > 0) left.push({ ...part, portions });
  }
  if (left.length > 0) await take(context, left);
}

/** `done`: Redis has run this very request before, over a connection that broke. */
async function nextOf(
  { eventStore, movedIds, clock }: StoreFanOutContext,
  event: AcceptedEvent,
): Promise<'store' | 'refuse' | 'done'> {
  const { accountId, id, isStored } = event;
  if (await movedIds?.isSettled(event, clock())) return mayBeKnown(event) ? 'refuse' : 'done';
  const head = await eventStore.findHead(accountId, id);
  // One that was stored before and is gone was sent, and has moved.
  if (head === undefined) return isStored ? 'refuse' : 'store';
  return head.schedule === undefined || head.schedule.state === 'due' ? 'store' : 'refuse';
}

function store({ eventStore }: StoreFanOutContext, { event, receivers, isFirst }: Portion): Step {
  const endpointIds = receivers.map(({ id }) => id);
  return isFirst
    ? eventStore.save(event, endpointIds)
    : eventStore.addReceivers(event.accountId, event.id, endpointIds);
}

/** An endpoint with what it gets. */
interface Listed {
  readonly receiver: Subscriber;
  readonly portions: RoutedEvent[];
}

// One call for all events of an endpoint.
function listDeliveries(
  { deliveryStore, admissionStore }: StoreFanOutContext,
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
    if (receiver.ordering === 'none') continue;
    const places = portions.flatMap(({ event, isNew }) => {
      const { id: eventId, acceptedAt } = event;
      const line = lineToJoin(receiver, event);
      return line === undefined ? [] : [{ eventId, acceptedAt, line, isNew }];
    });
    steps.push(admissionStore.joinOrder(receiver.id, places));
  }
  return steps;
}

// Last: an event in its account's list is complete, and a fan-out of it that is repeated has nothing to do.
function listEvents(
  { eventStore, overList, clock }: StoreFanOutContext,
  batch: readonly Portion[],
): readonly Step[] {
  const complete = batch.flatMap(({ event, total }) =>
    total === undefined ? [] : [{ event, deliveries: total }],
  );
  if (complete.length === 0) return [];
  const steps: Step[] = [eventStore.enlistAll(complete)];
  const over = complete
    .filter(({ deliveries }) => deliveries === 0)
    .map(({ event: { accountId, id } }) => ({ accountId, eventId: id }));
  if (overList) steps.push(overList.addAll(over, clock()));
  return steps;
}

function portionsOf({ event, receivers, isNew }: RoutedEvent): readonly Portion[] {
  const chunks = receivers.length === 0 ? [[]] : chunksOf(receivers, CHUNK);
  return chunks.map((chunk, i) => ({
    event,
    receivers: chunk,
    isNew,
    isFirst: i === 0,
    total: i === chunks.length - 1 ? receivers.length : undefined,
  }));
}

/** What is stored, in batches. Small portions go together. */
export function batchesOf(routed: readonly RoutedEvent[]): readonly (readonly Portion[])[] {
  const batches: Portion[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const portion of routed.flatMap(portionsOf)) {
    const ownSize = sizeOf([portion]);
    if (size + ownSize > CHUNK + 1) {
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

function deliveriesOf({ event, receivers }: Portion): readonly NewDelivery[] {
  const { accountId, id: eventId, acceptedAt } = event;
  return receivers.map(({ id: endpointId }) => ({ accountId, eventId, endpointId, acceptedAt }));
}

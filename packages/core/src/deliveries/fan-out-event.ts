import type { AdmissionStore } from '../admission/redis-admission-store';
import type { Subscriber } from '../endpoints/stored-endpoint';
import type { Subscriptions } from '../endpoints/subscriptions';
import type { AcceptedEvent, AccountId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf } from '../runtime/chunks-of';
import type { Clock } from '../runtime/clock';
import { createTurns } from '../runtime/turns';
import type { Emit } from '../signals/signals';
import type { DeliveryParts } from './delivery-id';
import type { DeliveryStore } from './redis-delivery-store';

export interface NewDelivery extends DeliveryParts {
  readonly accountId: AccountId;
}

/** The queue of deliveries. Adding the same delivery again is harmless. */
export interface DeliveryQueue {
  /**
   * Not all or nothing: when it throws, some of them may be on the queue.
   *
   * @param stored what their attempts need; they are added once it is there.
   */
  addAll(deliveries: readonly NewDelivery[], stored?: Promise<unknown>): Promise<void>;
}

/** An event, with those that it goes to. */
export interface RoutedEvent {
  readonly event: AcceptedEvent;
  readonly receivers: readonly Subscriber[];
}

/** One delivery of an event, or, behind the last of them, that it has them all. */
type Step =
  | { readonly kind: 'deliver'; readonly event: AcceptedEvent; readonly to: Subscriber }
  | { readonly kind: 'complete'; readonly routed: RoutedEvent };

type Delivering = Extract<Step, { kind: 'deliver' }>;

export interface FanOutEventDeps {
  readonly eventStore: Pick<EventStore, 'save' | 'enlist' | 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlist'>;
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly deliveryQueue: DeliveryQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop: a few milliseconds.
const CHUNK = 50;
// What is more than this takes turns with others like it, chunk by chunk, so that a single event never waits for several.
const FEW = 10;

/** Who an event goes to: those of its account that asked for its type, or that it is aimed at. */
export async function routeEvent(
  event: AcceptedEvent,
  subscriptions: Pick<Subscriptions, 'subscribersOf' | 'presentOf'>,
): Promise<RoutedEvent> {
  const { accountId, type, endpointIds } = event;
  const receivers =
    endpointIds === undefined
      ? await subscriptions.subscribersOf(accountId, type)
      : await subscriptions.presentOf(accountId, endpointIds);
  return { event, receivers };
}

/**
 * Makes a delivery of each event for each of its receivers. It may be run again, in whole or after it broke off anywhere:
 * every step is harmless when repeated.
 *
 * The event is stored before there is a job that needs it, and a job is on the queue before any list tells of its
 * delivery: what breaks off in the middle leaves no delivery that looks as if it were to be sent and never is.
 */
export function createFanOutEvent(deps: FanOutEventDeps) {
  const takeTurn = createTurns();

  return async function fanOutEvent(routed: readonly RoutedEvent[]): Promise<void> {
    const startedAt = deps.clock();
    const stored = Promise.all(routed.map(({ event }) => deps.eventStore.save(event)));
    // Whoever adds the jobs gets to know of a failure; until it is their turn nobody asks.
    stored.catch(() => {});
    const steps = routed.flatMap(stepsOf);
    const inTurn = steps.length > FEW ? takeTurn : atOnce;
    for (const chunk of chunksOf(steps, CHUNK)) await inTurn(() => take(chunk, stored));
    const durationMs = deps.clock() - startedAt;
    for (const one of routed) announce(one, durationMs);
  };

  async function take(chunk: readonly Step[], stored: Promise<unknown>): Promise<void> {
    const deliveries = chunk.flatMap((step) => (step.kind === 'deliver' ? [step] : []));
    const complete = chunk.flatMap((step) => (step.kind === 'complete' ? [step.routed] : []));
    await deps.deliveryQueue.addAll(deliveries.map(toDelivery), stored);
    await Promise.all([...deliveries.map(list), ...complete.map(listEvent)]);
  }

  async function list({ event, to }: Delivering) {
    await Promise.all([
      deps.deliveryStore.enlist(event.id, [to.id], event.acceptedAt, event.accountId),
      to.ordering === 'strict'
        ? deps.admissionStore.joinOrder(to.id, [{ eventId: event.id, acceptedAt: event.acceptedAt }])
        : undefined,
    ]);
  }

  async function listEvent({ event, receivers }: RoutedEvent): Promise<void> {
    await Promise.all([deps.eventStore.enlist(event, receivers.length), addReceivers(event, receivers)]);
  }

  async function addReceivers({ accountId, id }: AcceptedEvent, receivers: readonly Subscriber[]) {
    for (const chunk of chunksOf(receivers, CHUNK)) {
      const endpointIds = chunk.map((receiver) => receiver.id);
      await deps.eventStore.addReceivers(accountId, id, endpointIds);
    }
  }

  function announce({ event, receivers }: RoutedEvent, durationMs: number): void {
    deps.emit({
      name: 'event.fanned_out',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      deliveries: receivers.length,
      durationMs,
    });
  }
}

export type FanOutEvent = ReturnType<typeof createFanOutEvent>;

function stepsOf(routed: RoutedEvent): readonly Step[] {
  const { event, receivers } = routed;
  return [...receivers.map((to) => ({ kind: 'deliver', event, to }) as const), { kind: 'complete', routed }];
}

function atOnce<Result>(work: () => Promise<Result>): Promise<Result> {
  return work();
}

function toDelivery({ event, to }: Delivering): NewDelivery {
  return { accountId: event.accountId, eventId: event.id, endpointId: to.id };
}

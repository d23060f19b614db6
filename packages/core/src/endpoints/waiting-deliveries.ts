import { type Endpoint, type EndpointId, placeInOrder, usesLane } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import { timelinePages } from '../platform/redis-timeline';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { AdmissionStore } from './admission/redis-admission-store';
import type { BesideLanes } from './admission/redis-beside-lanes';
import { hasSameWindow } from './endpoint-rules';
import type { FormerOrder } from './former-order/redis-former-order';
import type { EndpointStore } from './redis-endpoint-store';

export interface WaitingDeliveriesParts {
  readonly endpointStore: EndpointStore;
  readonly admissionStore: AdmissionStore;
  readonly besideLanes: BesideLanes;
  /** Only with `RECORD_FORM=former`. */
  readonly formerOrder?: FormerOrder | undefined;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

const LISTED_AT_ONCE = 250;
const PROMOTED_AT_ONCE = 25;
// The others go when their time comes.
const MOST_PROMOTED = 1_000;

/** The deliveries of an endpoint that are held, or wait for another attempt, when the endpoint changes. */
export class WaitingDeliveries {
  constructor(private readonly parts: WaitingDeliveriesParts) {}

  /** The former order has no meaning any more, and other rules may apply to held deliveries now. */
  async applyLimits(before: Endpoint, endpoint: Endpoint): Promise<void> {
    const { admissionStore, formerOrder, heldDeliveries, clock } = this.parts;
    const { accountId, id, ordering } = endpoint;
    const isSameWindow = hasSameWindow(before, endpoint);
    if (before.ordering !== ordering) await this.#changeOrder(endpoint);
    // What has jobs is in order already.
    else if (usesLane(before) && !usesLane(endpoint)) await this.#joinInForce(endpoint);
    else if (!isSameWindow) await formerOrder?.forgetWindows(id);
    // Under a later limit, new deliveries would be held behind nothing.
    if (endpoint.rateLimit === undefined) await admissionStore.endRateWait(id);
    // What waits in lines does so for the end of a window, or behind one that is tried again later.
    const wakesLines = before.ordering === 'group' && usesLane(before);
    await heldDeliveries.askForWakeUp({ accountId, endpointId: id }, clock(), wakesLines);
    if (!isSameWindow) await this.promoteDelayed(id);
  }

  /**
   * Let the workers look again at what waits for a time that may not be right any more and is not held, the oldest first. If
   * that fails, it goes when its time comes.
   */
  async promoteDelayed(endpointId: EndpointId): Promise<void> {
    const { deliveryQueue, emit } = this.parts;
    let left = MOST_PROMOTED;
    try {
      for await (const delayed of this.#delayed(endpointId)) {
        for (const some of chunksOf(delayed.slice(0, left), PROMOTED_AT_ONCE)) {
          await deliveryQueue.promote(endpointId, some);
        }
        left -= delayed.length;
        if (left <= 0) return;
      }
    } catch (error) {
      emit({ name: 'task.failed', task: 'send waiting deliveries sooner', error });
    }
  }

  async *#delayed(endpointId: EndpointId): AsyncGenerator<readonly EventId[], void> {
    const { deliveryStore, deliveryQueue, heldDeliveries } = this.parts;
    const pages = timelinePages(LISTED_AT_ONCE, (limit, after) =>
      deliveryStore.listFrom(endpointId, {}, limit, after),
    );
    for await (const page of pages) {
      const eventIds = page.map(({ id }) => id as EventId);
      const delayed = await deliveryQueue.findDelayed(endpointId, eventIds);
      const held = await heldDeliveries.findHeld(endpointId, delayed);
      yield delayed.filter((eventId) => !held.has(eventId));
    }
  }

  async #changeOrder(endpoint: Endpoint): Promise<void> {
    await this.parts.besideLanes.clear(endpoint.id);
    await this.#joinInForce(endpoint);
  }

  // The order may change again meanwhile: the places of a former one, given last, would stay for ever.
  async #joinInForce(endpoint: Endpoint): Promise<void> {
    if (endpoint.ordering !== 'none') await this.#joinOrder(endpoint);
    const now = await this.parts.endpointStore.find(endpoint.accountId, endpoint.id);
    if (!now) await this.parts.besideLanes.clear(endpoint.id);
    else if (now.ordering !== endpoint.ordering) await this.#changeOrder(now);
  }

  // Held deliveries get their position. Running and delayed ones get theirs when they are admitted next.
  async #joinOrder(endpoint: Endpoint): Promise<void> {
    const { besideLanes, formerOrder, atomic, eventStore, heldDeliveries } = this.parts;
    const { accountId, id, ordering } = endpoint;
    for await (const held of heldDeliveries.pagesOf(id)) {
      const heads =
        ordering === 'strict'
          ? []
          : await Promise.all(held.map(({ eventId }) => eventStore.findHead(accountId, eventId)));
      const places = held.flatMap((each, i) => {
        const place = placeInOrder(endpoint, heads[i]?.group);
        return place ? [{ ...each, ...place }] : [];
      });
      await atomic([besideLanes.join(id, places)]);
      await formerOrder?.markReady(endpoint, held);
    }
  }
}

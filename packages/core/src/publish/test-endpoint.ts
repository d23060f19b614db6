import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { Endpoint, EndpointRef } from '../domain/endpoint';
import { EVENT_ID_PREFIX, type EventId } from '../domain/event';
import type { TraceContext } from '../domain/trace';
import { EVERY_EVENT, matchesType } from '../endpoints/filters/event-filters';
import { type ReadEndpointContext, readEndpoint } from '../endpoints/manage-endpoints';
import { keywordQuickWin } from '../event-types/built-in';
import {
  type EventTypeView,
  type ListEventTypesContext,
  listEventTypes,
  type ReadEventTypeContext,
  readEventType,
} from '../event-types/event-types';
import type { EventTypeStore } from '../event-types/redis-event-type-store';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError, invalidRequest } from '../platform/app-error';
import type { NewId } from '../platform/ids';
import type { AcceptEvents } from './accept-events';

export interface TestEndpointDeps extends ReadEndpointContext, ListEventTypesContext, ReadEventTypeContext {
  readonly eventTypeStore: Pick<EventTypeStore, 'find' | 'list'>;
  readonly deliveryStore: Pick<DeliveryStore, 'append'>;
  readonly acceptEvents: AcceptEvents;
}

export interface TestEndpointInput {
  readonly accountId: AccountId;
  readonly ref: EndpointRef;
  /** Left out: the first one in the catalogue that the endpoint asked for. */
  readonly type?: string | undefined;
  readonly requestId: string;
  /** Where the request is in a trace, if it is in one. */
  readonly trace?: TraceContext | undefined;
  readonly receivedAt: number;
  readonly newId: NewId;
}

/**
 * Sends an endpoint alone the catalogue's example of a type, whether it asked for that type or not: an event like any
 * other, aimed at it.
 *
 * @throws AppError `not_found`; `invalid_request` for a type that nobody can publish.
 */
export function createTestEndpoint(deps: TestEndpointDeps) {
  const { deliveryStore, acceptEvents } = deps;

  return async function testEndpoint(input: TestEndpointInput): Promise<DeliveryParts> {
    const endpoint = await readEndpoint(deps, input.accountId, input.ref);
    const eventType = await chooseType(endpoint, input.type);
    const eventId = input.newId(EVENT_ID_PREFIX) as EventId;
    const delivery = { eventId, endpointId: endpoint.id };
    // On record before there is anything to be sent, so that its first attempt knows what it is for.
    const requestedAt = input.receivedAt;
    await deliveryStore.append(delivery, {
      kind: 'requested',
      requestId: eventId,
      trigger: 'test',
      requestedAt,
    });
    await publish(eventType, delivery, input);
    return delivery;
  };

  async function chooseType({ events }: Endpoint, wanted: string | undefined): Promise<EventTypeView> {
    if (wanted !== undefined) return await readType(wanted);
    // By `*`, since that matches none of the service's own.
    const types = (await listEventTypes(deps)).filter(({ name }) => matchesType(EVERY_EVENT, name));
    const asked = types.find(({ name }) => events.some((filter) => matchesType(filter, name)));
    return asked ?? (await readEventType(deps, keywordQuickWin.name));
  }

  async function readType(name: string): Promise<EventTypeView> {
    try {
      return await readEventType(deps, name);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw invalidRequest([{ pointer: '/type', detail: 'is not a known event type' }], error);
    }
  }

  async function publish(
    { name: type, example: data }: EventTypeView,
    { eventId, endpointId }: DeliveryParts,
    { accountId, requestId, trace, receivedAt, newId }: TestEndpointInput,
  ): Promise<void> {
    const dataText = JSON.stringify(data);
    const [outcome] = await acceptEvents({
      accountId,
      requestId,
      trace,
      receivedAt,
      // The event's id is known already.
      newId: (prefix) => (prefix === EVENT_ID_PREFIX ? eventId : newId(prefix)),
      events: [{ type, data, dataText, endpointRefs: [endpointId] }],
    });
    if (outcome === undefined || outcome instanceof AppError) throw outcome;
  }
}

export type TestEndpoint = ReturnType<typeof createTestEndpoint>;

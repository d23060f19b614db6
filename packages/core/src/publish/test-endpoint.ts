import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { keywordQuickWin } from '../accounts/event-types/built-in';
import type { EventTypes, EventTypeView } from '../accounts/event-types/event-types';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import type { DeliveryParts } from '../domain/delivery';
import type { Endpoint, EndpointRef } from '../domain/endpoint';
import { EVENT_ID_PREFIX, type EventId } from '../domain/event';
import type { TraceContext } from '../domain/trace';
import { EVERY_EVENT, matchesType } from '../endpoints/filters/event-filters';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { readEndpoint } from '../endpoints/resolve-endpoints';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import type { NewId } from '../platform/ids';
import type { Step } from '../platform/redis-script';
import { type AcceptEventsContext, acceptEvents } from './accept-events';

export interface TestEndpointContext extends AcceptEventsContext {
  readonly endpointStore: AcceptEventsContext['endpointStore'] & Pick<EndpointStore, 'find' | 'idOf'>;
  readonly eventTypes: EventTypes;
  readonly deliveryStore: Pick<DeliveryStore, 'append' | 'enlistAll'>;
  readonly auditLog?: Pick<AuditLog, 'record'>;
}

export interface TestEndpointInput {
  readonly accountId: AccountId;
  readonly ref: EndpointRef;
  /** Absent: the first type in the catalogue that the endpoint subscribes to. */
  readonly type?: string | undefined;
  readonly requestId: string;
  /** The request's position in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  readonly receivedAt: number;
  readonly newId: NewId;
  readonly requireClaim?: Step | undefined;
  /** Absent: it is on no record. */
  readonly act?: Act;
}

/**
 * Send the catalogue's example of a type to one endpoint, whether it subscribes to that type or not: a normal
 * event, aimed at it.
 *
 * @throws AppError `not_found`; `invalid_request` for an unknown type.
 */
export async function testEndpoint(
  context: TestEndpointContext,
  input: TestEndpointInput,
): Promise<DeliveryParts> {
  const { accountId, ref, requestId, trace, receivedAt, newId, requireClaim } = input;
  const endpoint = await readEndpoint(context, accountId, ref);
  const { name: type, example: data } = await chooseType(context, endpoint, input.type);
  const eventId = newId(EVENT_ID_PREFIX) as EventId;
  const delivery = { eventId, endpointId: endpoint.id };
  const { act } = input;
  if (act) await context.auditLog?.record({ act, accountId, targetId: endpoint.id });
  // Recorded before anything can be sent, so that the first attempt knows its purpose.
  await context.deliveryStore.append(delivery, {
    kind: 'requested',
    requestId: eventId,
    trigger: 'test',
    requestedAt: receivedAt,
  });
  const [outcome] = await acceptEvents(context, {
    accountId,
    requestId,
    trace,
    receivedAt,
    requireClaim,
    // The event's id is known already.
    newId: (prefix) => (prefix === EVENT_ID_PREFIX ? eventId : newId(prefix)),
    events: [{ type, data, dataText: JSON.stringify(data), endpointRefs: [endpoint.id] }],
  });
  if (outcome === undefined || outcome instanceof AppError) throw outcome;
  return delivery;
}

async function chooseType(
  { eventTypes }: TestEndpointContext,
  { events }: Endpoint,
  wanted: string | undefined,
): Promise<EventTypeView> {
  if (wanted !== undefined) return await eventTypes.readNamed(wanted, '/type');
  // Through `*`, since that matches no operational event.
  const types = (await eventTypes.list()).filter(({ name }) => matchesType(EVERY_EVENT, name));
  const asked = types.find(({ name }) => events.some((filter) => matchesType(filter, name)));
  return asked ?? (await eventTypes.read(keywordQuickWin.name));
}

import type { AttemptFilter, AttemptOutcome } from '../domain/attempt';
import type { DeliveryParts } from '../domain/delivery';
import { type DeliverySummary, endStatuses } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { DeliveryStore, ListedDelivery } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { TimeRange } from '../platform/redis-timeline';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';

/** An entry of the list of an account's deliveries. */
export interface DeliveryEntry extends EventMark {
  readonly endpointId: EndpointId;
  /** The event's type, where it is known. */
  readonly type: string | undefined;
}

/** An event without deliveries to list, or without more of them: reading it takes time too. */
export interface EmptyEntry extends EventMark {
  readonly endpointId?: undefined;
}

export type ListEntry = DeliveryEntry | EmptyEntry;

/** A delivery's status as clients see it. `held`: pending, and waiting at its endpoint's gate. */
export const shownStatuses = ['pending', 'held', ...endStatuses] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** The state of a delivery, and whether it is held. */
export interface Standing
  extends DeliveryEntry,
    Pick<DeliverySummary, 'attemptCount' | 'lastOutcome' | 'lastResponseStatus' | 'nextAttemptAt'> {
  readonly status: ShownStatus;
  /** The number of its attempts that the list's filter matches. Absent: it has no such filter. */
  readonly matchingAttempts?: number | undefined;
}

/** The state of a delivery of a known type. */
export interface TypedStanding extends Standing {
  readonly type: string;
}

/** Read the standings of the deliveries in a list's entries, all of an endpoint together. The order stays. */
export async function readStandings<Empty extends EmptyEntry>(
  deliveryStore: DeliveryStore,
  heldDeliveries: HeldDeliveries,
  entries: readonly (DeliveryEntry | Empty)[],
  attempts?: AttemptFilter,
): Promise<readonly (Standing | Empty)[]> {
  const standings = new Map<DeliveryEntry, Standing>();
  await Promise.all(
    [...byEndpoint(entries.filter(isDelivery))].map(async ([endpointId, some]) => {
      const listed = await deliveryStore.readListed(endpointId, some, attempts);
      const ofEndpoint = await standingsOf(heldDeliveries, endpointId, listed);
      for (const [i, entry] of some.entries()) {
        const standing = ofEndpoint[i];
        if (standing?.endpointId === undefined) continue;
        const isTyped = standing.type !== undefined || entry.type === undefined;
        standings.set(entry, isTyped ? standing : { ...standing, type: entry.type });
      }
    }),
  );
  return entries.flatMap((entry) => (isDelivery(entry) ? (standings.get(entry) ?? []) : entry));
}

function isDelivery(entry: ListEntry): entry is DeliveryEntry {
  return entry.endpointId !== undefined;
}

function byEndpoint(entries: readonly DeliveryEntry[]): ReadonlyMap<EndpointId, readonly DeliveryEntry[]> {
  const groups = new Map<EndpointId, DeliveryEntry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.endpointId);
    if (group) group.push(entry);
    else groups.set(entry.endpointId, [entry]);
  }
  return groups;
}

/** Give the standings of deliveries of one endpoint whose logs were read, in their order. Those that are forgotten have none. */
export async function standingsOf(
  heldDeliveries: HeldDeliveries,
  endpointId: EndpointId,
  listed: readonly ListedDelivery[],
): Promise<readonly (Standing | EmptyEntry)[]> {
  const pending = listed.filter(({ status }) => status === 'pending').map(({ eventId }) => eventId);
  const held = await heldDeliveries.findHeld(endpointId, pending);
  return listed.map((one) => {
    const { eventId, createdAt, isForgotten } = one;
    const isHeld = held.has(eventId);
    return isForgotten && !isHeld ? { eventId, createdAt } : standingOf(endpointId, one, isHeld);
  });
}

// Copy member by member: a page needs hundreds, and a spread costs ten times as much.
function standingOf(endpointId: EndpointId, listed: ListedDelivery, isHeld: boolean): Standing {
  const { eventId, createdAt, attemptCount, lastOutcome, lastResponseStatus, matchingAttempts } = listed;
  return {
    endpointId,
    eventId,
    createdAt,
    type: listed.eventType,
    status: isHeld ? 'held' : listed.status,
    attemptCount,
    lastOutcome,
    lastResponseStatus,
    // A held delivery was due before it came to its gate.
    nextAttemptAt: isHeld ? undefined : listed.nextAttemptAt,
    matchingAttempts,
  };
}

/** Give a delivery's status as clients see it: a pending one may be held. `undefined`: it is forgotten. */
export async function shownStatusOf(
  heldDeliveries: HeldDeliveries,
  { endpointId, eventId }: DeliveryParts,
  { status, isForgotten }: Pick<DeliverySummary, 'status' | 'isForgotten'>,
): Promise<ShownStatus | undefined> {
  if (status !== 'pending') return status;
  if (await heldDeliveries.isHeld(endpointId, eventId)) return 'held';
  return isForgotten ? undefined : 'pending';
}

/** The class of the last attempt's response status. `none`: no response, or no attempt yet. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** The part of a filter that a delivery's own record decides. */
export interface RecordFilter {
  readonly status?: ShownStatus | undefined;
  readonly statusClass?: StatusClass | undefined;
  /** The status of its last attempt's response. */
  readonly responseStatus?: number | undefined;
  /** The outcome of its last attempt. */
  readonly outcome?: AttemptOutcome | undefined;
  /** At least one of its attempts, and not only the last one, is one of these. */
  readonly attempts?: AttemptFilter | undefined;
}

/** The filter of a list of deliveries. */
export interface DeliveryFilter extends RecordFilter, TimeRange {
  readonly eventType?: string | undefined;
  /** The JSON text of an object that the event's data contains. */
  readonly data?: string | undefined;
}

/** Whether a delivery's own record matches a filter. */
export function matchesFilter(
  { status, lastResponseStatus, lastOutcome, matchingAttempts }: Standing,
  filter: RecordFilter,
): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  if (filter.attempts !== undefined && !matchingAttempts) return false;
  if (filter.outcome !== undefined && filter.outcome !== lastOutcome) return false;
  if (filter.responseStatus !== undefined && filter.responseStatus !== lastResponseStatus) return false;
  return filter.statusClass === undefined || filter.statusClass === classOf(lastResponseStatus);
}

function classOf(responseStatus: number | undefined): string {
  return responseStatus === undefined ? 'none' : `${Math.floor(responseStatus / 100)}xx`;
}

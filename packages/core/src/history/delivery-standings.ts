import { type AccountId } from '../domain/account';
import type { Attempt, AttemptOutcome } from '../domain/attempt';
import { phaseOf } from '../domain/breaker';
import { type DeliveryId, type DeliveryParts, deliveryIdOf, type HoldReason } from '../domain/delivery';
import { type DeliveryStatus, type DeliverySummary, endStatuses } from '../domain/delivery-log';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { isUnreadableSecret } from '../endpoints/seal';
import type { DeliveryStore, ListedDelivery } from '../events/redis-delivery-store';
import type { Clock } from '../platform/clock';
import type { TimeRange } from '../platform/redis-timeline';
import type { DeliveryEntry, EmptyEntry, ListEntry } from './list-entries';

/** A delivery's status as clients see it. `held`: pending, and waiting at its endpoint's gate. */
export const shownStatuses = ['pending', 'held', ...endStatuses] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** Where a delivery stands, and whether it is held. */
export interface Standing
  extends DeliveryEntry,
    Pick<DeliverySummary, 'attemptCount' | 'lastOutcome' | 'lastResponseStatus' | 'nextAttemptAt'> {
  readonly status: ShownStatus;
}

/** Where a delivery of a known type stands. */
export interface TypedStanding extends Standing {
  readonly type: string;
}

/** A delivery as clients see it. */
export interface Delivery extends TypedStanding {
  readonly id: DeliveryId;
  /** Why it is held, if it is, and its endpoint is still there. */
  readonly hold: HoldExplanation | undefined;
}

/** A delivery with each of its attempts. */
export interface DeliveryWithAttempts extends Delivery {
  readonly attempts: readonly Attempt[];
}

/** Tells which deliveries are held. */
export interface HeldStatus {
  isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean>;
  /** Which of these are. */
  findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>>;
}

export interface StandingsContext {
  readonly deliveryStore: Pick<DeliveryStore, 'readListed'>;
  readonly heldDeliveries: Pick<HeldStatus, 'findHeld'>;
}

/** Read where the deliveries among a list's entries stand, all of an endpoint together. The order stays. */
export async function readStandings<Empty extends EmptyEntry>(
  context: StandingsContext,
  entries: readonly (DeliveryEntry | Empty)[],
): Promise<readonly (Standing | Empty)[]> {
  const standings = new Map<DeliveryEntry, Standing>();
  await Promise.all(
    [...byEndpoint(entries.filter(isDelivery))].map(async ([endpointId, some]) => {
      const listed = await context.deliveryStore.readListed(endpointId, some);
      const ofEndpoint = await standingsOf(context, endpointId, listed);
      for (const [i, entry] of some.entries()) {
        const standing = ofEndpoint[i];
        if (standing) standings.set(entry, { ...standing, type: entry.type ?? standing.type });
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

/** Tell where deliveries of one endpoint stand whose logs were read. */
export async function standingsOf(
  { heldDeliveries }: Pick<StandingsContext, 'heldDeliveries'>,
  endpointId: EndpointId,
  listed: readonly ListedDelivery[],
): Promise<readonly Standing[]> {
  const pending = listed.filter(({ status }) => status === 'pending').map(({ eventId }) => eventId);
  const held = await heldDeliveries.findHeld(endpointId, pending);
  return listed.map((one) => standingOf(endpointId, one, held));
}

// Member by member: hundreds are made for a page, and a spread costs ten times as much.
function standingOf(endpointId: EndpointId, listed: ListedDelivery, held: ReadonlySet<EventId>): Standing {
  const { eventId, createdAt, attemptCount, lastOutcome, lastResponseStatus } = listed;
  const isHeld = listed.status === 'pending' && held.has(eventId);
  return {
    endpointId,
    eventId,
    createdAt,
    type: listed.eventType,
    status: isHeld ? 'held' : listed.status,
    attemptCount,
    lastOutcome,
    lastResponseStatus,
    // One that is held was due before it came to its gate.
    nextAttemptAt: isHeld ? undefined : listed.nextAttemptAt,
  };
}

/** Give a delivery's status as clients see it: one that is pending may be held. */
export async function shownStatusOf(
  heldDeliveries: Pick<HeldStatus, 'isHeld'>,
  { endpointId, eventId }: DeliveryParts,
  status: DeliveryStatus,
): Promise<ShownStatus> {
  if (status !== 'pending') return status;
  return (await heldDeliveries.isHeld(endpointId, eventId)) ? 'held' : 'pending';
}

/** What the last attempt was answered with. `none`: with nothing, or there was no attempt yet. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** What a delivery must be to be listed, as far as its own record tells. */
export interface RecordFilter {
  readonly status?: ShownStatus | undefined;
  readonly statusClass?: StatusClass | undefined;
  /** What its last attempt was answered with. */
  readonly responseStatus?: number | undefined;
  /** What came of its last attempt. */
  readonly outcome?: AttemptOutcome | undefined;
}

/** What a delivery must be to be listed. */
export interface DeliveryFilter extends RecordFilter, TimeRange {
  readonly eventType?: string | undefined;
}

/** Whether a delivery is what a filter says, as far as its own record tells. */
export function matchesFilter(
  { status, lastResponseStatus, lastOutcome }: Standing,
  filter: RecordFilter,
): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  if (filter.outcome !== undefined && filter.outcome !== lastOutcome) return false;
  if (filter.responseStatus !== undefined && filter.responseStatus !== lastResponseStatus) return false;
  return filter.statusClass === undefined || filter.statusClass === classOf(lastResponseStatus);
}

function classOf(responseStatus: number | undefined): string {
  return responseStatus === undefined ? 'none' : `${Math.floor(responseStatus / 100)}xx`;
}

export interface CompleteDeliveriesContext extends ExplainHoldContext {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
}

/** Make deliveries of where they stand. It asks once for each endpoint why some are held. */
export async function completeDeliveries(
  context: CompleteDeliveriesContext,
  accountId: AccountId,
  standings: readonly TypedStanding[],
): Promise<readonly Delivery[]> {
  const held = standings.filter(({ status }) => status === 'held');
  const endpointIds = [...new Set(held.map(({ endpointId }) => endpointId))];
  const explained = endpointIds.map(async (id) => {
    const endpoint = await context.endpointStore.find(accountId, id).catch(undefinedIfUnreadable);
    return [id, endpoint && (await explainHold(context, endpoint))] as const;
  });
  const holds = new Map(await Promise.all(explained));
  return standings.map((one) => {
    const hold = one.status === 'held' ? holds.get(one.endpointId)?.(one.eventId) : undefined;
    return deliveryOf(one, hold);
  });
}

/** One endpoint whose secrets nobody can read must not keep a page with others from being shown. */
function undefinedIfUnreadable(error: unknown): undefined {
  if (isUnreadableSecret(error)) return undefined;
  throw error;
}

function deliveryOf(standing: TypedStanding, hold: HoldExplanation | undefined): Delivery {
  const { eventId, endpointId, type, status, attemptCount, createdAt } = standing;
  const { lastOutcome, lastResponseStatus, nextAttemptAt } = standing;
  return {
    id: deliveryIdOf({ eventId, endpointId }),
    eventId,
    endpointId,
    type,
    status,
    attemptCount,
    lastOutcome,
    lastResponseStatus,
    nextAttemptAt,
    hold,
    createdAt,
  };
}

/** Why a delivery is held, and until when at most if time alone ends it: milliseconds since the Unix epoch. */
export interface HoldExplanation {
  readonly reason: HoldReason;
  readonly until: number | undefined;
}

export interface ExplainHoldContext {
  readonly admissionStore: Pick<AdmissionStore, 'stand'>;
  readonly clock: Clock;
}

/**
 * Explain what holds an endpoint's deliveries, by the event of each. The reason may have changed since a delivery was held,
 * so it is not stored but looked up: once for as many deliveries of an endpoint as are shown together.
 */
export async function explainHold(
  { admissionStore, clock }: ExplainHoldContext,
  endpoint: Endpoint,
): Promise<(eventId: EventId) => HoldExplanation> {
  if (endpoint.status === 'disabled') return () => ({ reason: 'disabled', until: undefined });
  const { breaker, rate, next } = await admissionStore.stand(endpoint.id, endpoint.rateLimit);
  const now = clock();
  switch (phaseOf(breaker, now)) {
    case 'open':
      return () => ({ reason: 'breaker_open', until: breaker.openUntil });
    case 'half_open':
      return () => ({ reason: 'breaker_open', until: undefined });
    case 'closed':
  }
  const first = endpoint.ordering === 'strict' ? next?.eventId : undefined;
  return (eventId) => {
    if (first !== undefined && first !== eventId) return { reason: 'out_of_turn', until: undefined };
    if (rate.free < 1) return { reason: 'rate_limited', until: now + rate.nextInMs };
    return { reason: 'busy', until: undefined };
  };
}

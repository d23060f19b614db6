import { type AccountId } from '../domain/account';
import type { Attempt, AttemptOutcome } from '../domain/attempt';
import { phaseOf } from '../domain/breaker';
import {
  type DeliveryId,
  type DeliveryParts,
  deliveryIdOf,
  type HoldReason,
  type PastHold,
} from '../domain/delivery';
import {
  type CancelReason,
  type DeliveryStatus,
  type DeliverySummary,
  endStatuses,
} from '../domain/delivery-log';
import { batchLimitsOf, type Endpoint, type EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { AdmissionStore, Standing as Limits } from '../endpoints/admission/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { isUnreadableSecret } from '../endpoints/seal';
import type { VerificationPolicy } from '../endpoints/verification/verify';
import type { DeliveryStore, ListedDelivery } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { Clock } from '../platform/clock';
import type { TimeRange } from '../platform/redis-timeline';

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
}

/** The state of a delivery of a known type. */
export interface TypedStanding extends Standing {
  readonly type: string;
}

/** A delivery as clients see it. */
export interface Delivery extends TypedStanding {
  readonly id: DeliveryId;
  /** Why it is held; absent if it is not, or its endpoint is gone. */
  readonly hold: HoldExplanation | undefined;
}

/** A delivery with each of its attempts. */
export interface DeliveryWithAttempts extends Delivery {
  readonly attempts: readonly Attempt[];
  /** The newer event of its group that is sent in place of it, if it has ended so. */
  readonly supersededBy?: EventId | undefined;
  /** If it has ended so, and the reason is a known one. */
  readonly cancelReason?: CancelReason | undefined;
}

/** Tells which deliveries are held. */
export interface HeldStatus {
  isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean>;
  /** Why it is held, in the order of time. Reasons before its former attempt may be among them. */
  holdsOf(endpointId: EndpointId, eventId: EventId): Promise<readonly PastHold[]>;
  /** The held ones among these. */
  findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>>;
}

export interface StandingsContext {
  readonly deliveryStore: Pick<DeliveryStore, 'readListed'>;
  readonly heldDeliveries: Pick<HeldStatus, 'findHeld'>;
}

/** Read the standings of the deliveries in a list's entries, all of an endpoint together. The order stays. */
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
        if (!standing) continue;
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

/** Give the standings of deliveries of one endpoint whose logs were read. */
export async function standingsOf(
  { heldDeliveries }: Pick<StandingsContext, 'heldDeliveries'>,
  endpointId: EndpointId,
  listed: readonly ListedDelivery[],
): Promise<readonly Standing[]> {
  const pending = listed.filter(({ status }) => status === 'pending').map(({ eventId }) => eventId);
  const held = await heldDeliveries.findHeld(endpointId, pending);
  return listed.map((one) => standingOf(endpointId, one, held));
}

// Copy member by member: a page needs hundreds, and a spread costs ten times as much.
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
    // A held delivery was due before it came to its gate.
    nextAttemptAt: isHeld ? undefined : listed.nextAttemptAt,
  };
}

/** Give a delivery's status as clients see it: a pending one may be held. */
export async function shownStatusOf(
  heldDeliveries: Pick<HeldStatus, 'isHeld'>,
  { endpointId, eventId }: DeliveryParts,
  status: DeliveryStatus,
): Promise<ShownStatus> {
  if (status !== 'pending') return status;
  return (await heldDeliveries.isHeld(endpointId, eventId)) ? 'held' : 'pending';
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
}

/** The filter of a list of deliveries. */
export interface DeliveryFilter extends RecordFilter, TimeRange {
  readonly eventType?: string | undefined;
  /** The JSON text of an object that the event's data contains. */
  readonly data?: string | undefined;
}

/** Whether a delivery's own record matches a filter. */
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

/** Complete standings to deliveries. It looks up once for each endpoint why some are held. */
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
  return await Promise.all(
    standings.map(async (one) => {
      const hold = one.status === 'held' ? await holds.get(one.endpointId)?.(one.eventId) : undefined;
      return deliveryOf(one, hold);
    }),
  );
}

/** One endpoint whose secrets can't be read must not keep a page with others from being shown. */
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

/**
 * Why a delivery is held, and until when at most if time alone ends it: milliseconds since the Unix epoch.
 */
export interface HoldExplanation {
  readonly reason: HoldReason;
  readonly until: number | undefined;
  /** When it was held, for whichever reason at first. Absent: in a list, or not known. */
  readonly since?: number | undefined;
}

export interface ExplainHoldContext {
  readonly admissionStore: Pick<AdmissionStore, 'stand'>;
  readonly heldDeliveries: Pick<HeldStatus, 'holdsOf'>;
  readonly verificationPolicy: Pick<VerificationPolicy, 'isWaiting'>;
  readonly clock: Clock;
}

// Of more groups than that, some that are held behind another event are said to be held for want of a slot.
const READY_LOOKED_AT = 1_000;

/**
 * Explain what holds an endpoint's deliveries, by the event of each. It is looked up once for all deliveries of an endpoint
 * that are shown together: the reason may have changed since a delivery was held. What is its own alone, its job tells.
 */
export async function explainHold(
  { admissionStore, heldDeliveries, verificationPolicy, clock }: ExplainHoldContext,
  endpoint: Endpoint,
): Promise<(eventId: EventId) => Promise<HoldExplanation>> {
  const ofAll = (reason: HoldReason, until?: number) => async () => ({ reason, until });
  if (endpoint.status === 'disabled') return ofAll('disabled');
  if (await verificationPolicy.isWaiting(endpoint)) return ofAll('unverified');
  const mostReady = endpoint.ordering === 'group' ? READY_LOOKED_AT : 0;
  const standing = await admissionStore.stand(endpoint.id, endpoint.rateLimit, mostReady);
  const { breaker, rate, tokenPausedUntil } = standing;
  const now = clock();
  switch (phaseOf(breaker, now)) {
    case 'open':
      return ofAll('breaker_open', breaker.openUntil);
    case 'half_open':
      return ofAll('breaker_open');
    case 'closed':
  }
  const isInTurn = turnIn(endpoint, standing);
  const maxWaitMs = batchLimitsOf(endpoint)?.maxWaitMs ?? 0;
  return async (eventId) => {
    if (!isInTurn(eventId)) return { reason: 'ordering', until: undefined };
    if (tokenPausedUntil !== undefined) {
      return { reason: 'no_token', until: tokenPausedUntil > now ? tokenPausedUntil : undefined };
    }
    if (rate.free < 1) return { reason: 'rate_limited', until: now + rate.nextInMs };
    if (endpoint.ordering !== 'strict' && maxWaitMs === 0) return { reason: 'busy', until: undefined };
    return explainByJob(endpoint, maxWaitMs, await heldDeliveries.holdsOf(endpoint.id, eventId));
  };
}

/** What the endpoint does not tell: it waits for others, for an event that is still on the queue, or for a slot. */
function explainByJob(
  { ordering }: Endpoint,
  maxWaitMs: number,
  holds: readonly PastHold[],
): HoldExplanation {
  const reason = holds.at(-1)?.reason;
  // In groups, the one before it may have ended since.
  if (ordering === 'strict' && reason === 'ordering') return { reason, until: undefined };
  const since = holds[holds.findLastIndex((hold) => hold.reason !== 'batching') + 1]?.since;
  if (since === undefined || maxWaitMs === 0) return { reason: 'busy', until: undefined };
  return { reason: 'batching', until: since + maxWaitMs };
}

function turnIn(
  { ordering }: Endpoint,
  { next, ready }: Pick<Limits, 'next' | 'ready'>,
): (eventId: EventId) => boolean {
  if (ordering === 'strict' && next) return (eventId) => eventId === next.eventId;
  if (ordering !== 'group' || ready.length === READY_LOOKED_AT) return () => true;
  const first = new Set(ready);
  return (eventId) => first.has(eventId);
}

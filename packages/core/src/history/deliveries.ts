import type { AccountId } from '../domain/account';
import { type Attempt, type AttemptFilter, matchesAttempt } from '../domain/attempt';
import { standingOfBreaker } from '../domain/breaker';
import {
  type DeliveryId,
  type DeliveryParts,
  deliveryIdOf,
  type HoldReason,
  type PastHold,
  parseDeliveryId,
} from '../domain/delivery';
import type { CancelReason } from '../domain/delivery-log';
import { batchLimitsOf, type Endpoint, type EndpointId, type EndpointRef } from '../domain/endpoint';
import { type EventHead, type EventId, eventNotFound } from '../domain/event';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import { isUnreadableSecret } from '../endpoints/seal';
import type { VerificationPolicy } from '../endpoints/verification/verify';
import type { EventMark } from '../events/redis-event-index';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { TimeRange } from '../platform/redis-timeline';
import type { DeliveryHolds, LaneStanding } from '../queue/bullmq-delivery-holds';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import {
  type DeliveryFilter,
  type RecordFilter,
  shownStatusOf,
  standingsOf,
  type TypedStanding,
} from './delivery-standings';
import type { DeliveryQuery, ListMark } from './history-source';
import type { WholeHistory } from './whole-history';

export interface DeliveriesParts {
  readonly history: WholeHistory;
  readonly endpointStore: EndpointStore;
  readonly heldDeliveries: HeldDeliveries;
  readonly deliveryHolds: DeliveryHolds;
  readonly admissionStore: AdmissionStore;
  readonly besideLanes: BesideLanes;
  readonly verificationPolicy: VerificationPolicy;
  readonly clock: Clock;
}

/** A delivery as clients see it. */
export interface Delivery extends TypedStanding {
  readonly id: DeliveryId;
  /** The number of its attempts that the list's filter matches. Absent: there is no such filter. */
  readonly matchingAttempts?: number | undefined;
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

/**
 * Why a delivery is held, and until when at most if time alone ends it: milliseconds since the Unix epoch.
 */
export interface HoldExplanation {
  readonly reason: HoldReason;
  readonly until: number | undefined;
  /** The event of the delivery that goes first. Absent: it waits for none, or for one that is not known yet. */
  readonly waitsFor?: EventId | undefined;
  /** When it was held, for whichever reason at first. Absent: in a list, or not known. */
  readonly since?: number | undefined;
}

/** The owner of the listed deliveries; absent: the whole account. */
export interface ListScope {
  readonly endpoint?: EndpointRef | undefined;
  readonly eventId?: EventId | undefined;
}

export interface DeliveriesPage<Cursor> {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: Cursor | undefined;
  /** It ends before its list does, because the history is away. */
  readonly isCutShort?: true;
}

/** The deliveries of an account as clients see them. */
export class Deliveries {
  constructor(private readonly parts: DeliveriesParts) {}

  /**
   * List deliveries in pages, those of the newest event first. Deliveries to deleted endpoints are included.
   *
   * @throws AppError `not_found` when the account does not own what the scope names.
   */
  async list(
    accountId: AccountId,
    { endpoint, eventId }: ListScope,
    filter: DeliveryFilter,
    limit: number,
    before?: ListMark,
  ): Promise<DeliveriesPage<ListMark>> {
    const endpointId =
      endpoint === undefined ? undefined : await requireEndpoint(this.parts, accountId, endpoint);
    const event = eventId === undefined ? undefined : await this.#requireEvent(accountId, eventId);
    const query = { accountId, endpointId, eventId, ...filter, ...(event && rangeOf(event, filter)) };
    return await this.#readPage(query, limit, before);
  }

  /**
   * List an event's deliveries, those to the endpoints registered last first. Deliveries to deleted endpoints
   * are included.
   *
   * @throws AppError `not_found` when the account has no such event.
   */
  async listOfEvent(
    accountId: AccountId,
    eventId: EventId,
    filter: RecordFilter,
    limit: number,
    endpointId?: EndpointId,
  ): Promise<DeliveriesPage<EndpointId>> {
    const event = await this.#requireEvent(accountId, eventId);
    const before = endpointId && { eventId, createdAt: event.acceptedAt, endpointId };
    const query = { accountId, eventId, ...filter, ...rangeOf(event, {}) };
    const page = await this.#readPage(query, limit, before);
    return { ...page, nextCursor: page.nextCursor?.endpointId };
  }

  /**
   * Read a delivery with its attempts. An endpoint's deliveries belong to its account, and are removed with it.
   *
   * @throws AppError `not_found`, also for another account's delivery.
   */
  async read(accountId: AccountId, id: string): Promise<DeliveryWithAttempts> {
    const { endpointStore, history, heldDeliveries } = this.parts;
    const parts = parseDeliveryId(id);
    const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
    const recorded = endpoint && (await history.findDelivery(accountId, parts));
    if (!recorded) throw deliveryNotFound();
    // A delivery that was never tried has no line with its type. If its event is gone too, its type is unknown.
    const type = recorded.eventType ?? (await history.findHead(accountId, parts.eventId))?.type;
    if (type === undefined) throw deliveryNotFound();
    const status = await shownStatusOf(heldDeliveries, parts, recorded);
    if (status === undefined) throw deliveryNotFound();
    const nextAttemptAt = status === 'held' ? undefined : recorded.nextAttemptAt;
    const standing = { ...recorded, ...parts, type, status, nextAttemptAt };
    const [[delivery], since] = await Promise.all([
      completeDeliveries(this.parts, accountId, [standing]),
      status === 'held' ? this.#heldSince(parts, recorded.attempts.at(-1)) : undefined,
    ]);
    if (!delivery) throw deliveryNotFound();
    const hold = delivery.hold && { ...delivery.hold, since };
    const { supersededBy, cancelReason, attempts } = recorded;
    return { ...delivery, hold, supersededBy, cancelReason, attempts };
  }

  /**
   * Read deliveries of one endpoint, in the order of their marks. `undefined`: it is not there any more.
   *
   * @param attempts which ones to count.
   * @throws AppError `history_unavailable` when some have moved, and can't be read.
   */
  async readSome(
    accountId: AccountId,
    endpointId: EndpointId,
    marks: readonly EventMark[],
    attempts?: AttemptFilter,
  ): Promise<readonly (Delivery | undefined)[]> {
    const { history, heldDeliveries } = this.parts;
    const [states, heads] = await Promise.all([
      history.readStates(
        accountId,
        marks.map((mark) => ({ ...mark, endpointId })),
      ),
      history.readHeads(accountId, marks),
    ]);
    const listed = marks.flatMap((mark, i) => {
      const state = states[i];
      if (!state) return [];
      const matchingAttempts =
        attempts && state.attempts.filter((attempt) => matchesAttempt(attempt, attempts)).length;
      return [{ ...state, ...mark, eventType: state.eventType ?? heads[i]?.type, matchingAttempts }];
    });
    const standings = await standingsOf(heldDeliveries, endpointId, listed);
    const typed = standings.flatMap((one) =>
      one.endpointId === undefined || one.type === undefined ? [] : [{ ...one, type: one.type }],
    );
    const found = await completeDeliveries(this.parts, accountId, typed);
    const byEvent = new Map(found.map((delivery) => [delivery.eventId, delivery]));
    return marks.map(({ eventId }) => byEvent.get(eventId));
  }

  async #requireEvent(accountId: AccountId, id: EventId): Promise<EventHead> {
    const head = await this.parts.history.findHead(accountId, id);
    if (!head) throw eventNotFound();
    return head;
  }

  async #readPage(
    query: DeliveryQuery,
    limit: number,
    before: ListMark | undefined,
  ): Promise<DeliveriesPage<ListMark>> {
    const { found, ...page } = await this.parts.history.listDeliveries(query, limit, before);
    return { ...page, deliveries: await completeDeliveries(this.parts, query.accountId, found) };
  }

  /** When a held delivery was held first after its last attempt. undefined: its job does not tell. */
  async #heldSince(
    { endpointId, eventId }: DeliveryParts,
    last: Attempt | undefined,
  ): Promise<number | undefined> {
    const holds = await this.parts.deliveryHolds.holdsOf(endpointId, eventId);
    return holds.find(({ since }) => last === undefined || since >= last.startedAt)?.since;
  }
}

/** All deliveries of an event have its time. */
function rangeOf({ acceptedAt }: EventHead, { since = acceptedAt, until = Infinity }: TimeRange): TimeRange {
  return { since: Math.max(since, acceptedAt), until: Math.min(until, acceptedAt + 1) };
}

function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}

/** Complete standings to deliveries. It looks up once for each endpoint why some are held. */
async function completeDeliveries(
  parts: DeliveriesParts,
  accountId: AccountId,
  standings: readonly TypedStanding[],
): Promise<readonly Delivery[]> {
  const held = standings.filter(({ status }) => status === 'held');
  const endpointIds = [...new Set(held.map(({ endpointId }) => endpointId))];
  const explained = endpointIds.map(async (id) => {
    const endpoint = await parts.endpointStore.find(accountId, id).catch(undefinedIfUnreadable);
    return [id, endpoint && (await explainHold(parts, endpoint))] as const;
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
  const { lastOutcome, lastResponseStatus, nextAttemptAt, matchingAttempts } = standing;
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
    matchingAttempts,
    hold,
    createdAt,
  };
}

/**
 * Explain what holds an endpoint's deliveries, by the event of each. It is looked up once for all deliveries of an endpoint
 * that are shown together: the reason may have changed since a delivery was held. What is its own alone, its job tells.
 */
export async function explainHold(
  parts: DeliveriesParts,
  endpoint: Endpoint,
): Promise<(eventId: EventId) => Promise<HoldExplanation>> {
  const { admissionStore, besideLanes, deliveryHolds, heldDeliveries, verificationPolicy, clock } = parts;
  const ofAll = (reason: HoldReason, until?: number) => async () => ({ reason, until });
  if (endpoint.status === 'disabled') return ofAll('disabled');
  if (await verificationPolicy.isWaiting(endpoint)) return ofAll('unverified');
  const { breaker, rate, tokenPausedUntil } = await admissionStore.stand(endpoint.id, endpoint.rateLimit);
  const now = clock();
  const { phase, nextTryAt } = standingOfBreaker(breaker, now);
  if (phase !== 'closed') return ofAll('breaker_open', nextTryAt);
  const maxWaitMs = batchLimitsOf(endpoint)?.maxWaitMs ?? 0;
  const findBefore = async (lane: LaneStanding, eventId: EventId) => {
    const withJob = isBehindJob(lane) ? await besideLanes.first(endpoint.id, lane.line) : undefined;
    return withJob?.eventId ?? (lane.first === eventId ? undefined : lane.first);
  };
  return async (eventId) => {
    if (endpoint.ordering !== 'none') {
      const lane = await deliveryHolds.findLane(endpoint.id, eventId);
      const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
      if (lane?.hasJob === false) await heldDeliveries.askForWakeUp(address, now, true);
      const before = lane
        ? await findBefore(lane, eventId)
        : await besideLanes.findFirstBefore(endpoint.id, eventId);
      if (before !== undefined) return { reason: 'ordering', until: undefined, waitsFor: before };
      if (lane && isBehindJob(lane)) return { reason: 'ordering', until: undefined };
    }
    if (tokenPausedUntil !== undefined) {
      return { reason: 'no_token', until: tokenPausedUntil > now ? tokenPausedUntil : undefined };
    }
    if (rate.free < 1) return { reason: 'rate_limited', until: now + rate.nextInMs };
    return explainByJob(endpoint, maxWaitMs, await deliveryHolds.holdsOf(endpoint.id, eventId));
  };
}

/** All of a lane may wait for a delivery with a job of its own, a dead letter. */
function isBehindJob({ isHeld, holds }: LaneStanding): boolean {
  return isHeld && holds.at(-1)?.reason === 'ordering';
}

/** What the endpoint does not tell: why it was held last. */
function explainByJob(
  { ordering }: Endpoint,
  maxWaitMs: number,
  holds: readonly PastHold[],
): HoldExplanation {
  const busy = { reason: 'busy', until: undefined } as const;
  const reason = holds.at(-1)?.reason;
  switch (reason) {
    case 'disabled':
    case 'unverified':
    case 'breaker_open':
    case 'no_token':
    case 'rate_limited':
      // By what was looked up it is over: now it waits for a permit.
      return busy;
    case 'ordering':
      // In groups, the one before it may have ended since.
      return ordering === 'strict' ? { reason, until: undefined } : busy;
    case 'batching': {
      const first = holds[holds.findLastIndex((hold) => hold.reason !== 'batching') + 1];
      return first && maxWaitMs > 0 ? { reason, until: first.since + maxWaitMs } : busy;
    }
    case 'busy':
    case undefined:
      return busy;
  }
}

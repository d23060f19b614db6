import type { AccountId } from '../domain/account';
import { phaseOf } from '../domain/breaker';
import { deliveryIdOf, type HoldReason } from '../domain/delivery';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { isUnreadableSecret } from '../endpoints/seal';
import type { Clock } from '../platform/clock';
import type { Delivery, Standing } from './delivery-standings';

/** Where a delivery of a known type stands. */
export interface TypedStanding extends Standing {
  readonly type: string;
}

export interface CompleteDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly explainHold: ExplainHold;
}

/** Makes deliveries of where they stand: why some are held is asked for once for each endpoint. */
export function createCompleteDeliveries({ endpointStore, explainHold }: CompleteDeliveriesDeps) {
  return async function completeDeliveries(
    accountId: AccountId,
    standings: readonly TypedStanding[],
  ): Promise<readonly Delivery[]> {
    const held = standings.filter(({ status }) => status === 'held');
    const endpointIds = [...new Set(held.map(({ endpointId }) => endpointId))];
    const explained = endpointIds.map(async (id) => [id, await holdOf(accountId, id)] as const);
    const holds = new Map(await Promise.all(explained));
    return standings.map((one) => {
      const hold = one.status === 'held' ? holds.get(one.endpointId)?.(one.eventId) : undefined;
      return deliveryOf(one, hold);
    });
  };

  async function holdOf(accountId: AccountId, id: EndpointId): Promise<HoldOf | undefined> {
    const endpoint = await endpointStore.find(accountId, id).catch(noneIfUnreadable);
    return endpoint && (await explainHold(endpoint));
  }
}

/** One endpoint whose secrets nobody can read must not keep a page with others from being shown. */
function noneIfUnreadable(error: unknown): Endpoint | undefined {
  if (isUnreadableSecret(error)) return undefined;
  throw error;
}

function deliveryOf(standing: TypedStanding, hold: HoldExplanation | undefined): Delivery {
  const { eventId, endpointId, type, status, attemptCount, createdAt } = standing;
  const { lastOutcome, lastResponseStatus, nextAttemptAt } = standing;
  const id = deliveryIdOf({ eventId, endpointId });
  return {
    id,
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

/** Why a delivery is held as things stand, and until when at most if time alone ends it: milliseconds since the Unix epoch. */
export interface HoldExplanation {
  readonly reason: HoldReason;
  readonly until: number | undefined;
}

export interface ExplainHoldDeps {
  readonly admissionStore: Pick<AdmissionStore, 'stand'>;
  readonly clock: Clock;
}

/** What holds an endpoint's deliveries, by the event of each. */
export type HoldOf = (eventId: EventId) => HoldExplanation;

/**
 * It may be held for something else than what it was held for first, so it is not kept but asked for: once for as many
 * deliveries of an endpoint as are shown together.
 */
export function createExplainHold({ admissionStore, clock }: ExplainHoldDeps) {
  return async function explainHold(endpoint: Endpoint): Promise<HoldOf> {
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
  };
}

export type ExplainHold = ReturnType<typeof createExplainHold>;

import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { isUnreadableSecret } from '../endpoints/seal';
import { deliveryIdOf } from '../model/delivery';
import type { Endpoint, EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { Delivery } from './delivery';
import type { Standing } from './delivery-standings';
import type { ExplainHold, HoldExplanation, HoldOf } from './explain-hold';

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

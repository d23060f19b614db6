import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { createRequireEndpoint } from '../endpoints/require-endpoint';
import { inBatches } from '../kernel/batches';
import type { TimeRange } from '../kernel/redis-timeline';
import type { Attempt } from '../model/attempt';
import { type DeliveryId, deliveryIdOf } from '../model/delivery';
import type { EndpointRef } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { ShownStatus } from './delivery-filter';
import { type HeldStatus, shownStatusOf } from './shown-status';
import {
  createWalkDeliveries,
  type DeliveryMark,
  type WalkDeliveriesDeps,
  type WalkedDelivery,
} from './walk-deliveries';

export interface ExportAttemptsDeps extends WalkDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom' | 'readWithLength'>;
  readonly heldDeliveries: HeldStatus;
}

/** What is exported: the attempts of events that were accepted in the range. */
export interface ExportScope {
  readonly range: TimeRange;
  /** Only deliveries to this one. */
  readonly endpoint?: EndpointRef | undefined;
  /** At most so many attempts. */
  readonly limit?: number | undefined;
}

/** Where an export has come to. */
export interface ExportMark extends DeliveryMark {
  /** How many of the delivery's attempts are behind it. */
  readonly attempts: number;
}

/** An attempt, and how its delivery stood when it was read. */
export interface ExportedAttempt extends WalkedDelivery {
  readonly id: DeliveryId;
  readonly status: ShownStatus;
  readonly attempt: Attempt;
  readonly mark: ExportMark;
}

// Logs hold the beginnings of answers: with the default sizes ten failed attempts of each are 400 KB.
const DELIVERIES_AT_ONCE = 10;

/**
 * Goes through an account's attempts, those of the oldest event first, reading on as it is asked and holding no more than
 * a few deliveries. Lines of a log are only ever appended, so that each attempt keeps its place.
 */
export function createExportAttempts({
  endpointStore,
  eventStore,
  deliveryStore,
  heldDeliveries,
}: ExportAttemptsDeps) {
  const requireEndpoint = createRequireEndpoint(endpointStore);
  const walkDeliveries = createWalkDeliveries({ eventStore, deliveryStore });

  /**
   * @param signal ends it, also where it finds nothing.
   * @throws AppError `not_found`, at the first step, when the account has no such endpoint.
   */
  return async function* exportAttempts(
    accountId: AccountId,
    { range, endpoint, limit = Number.POSITIVE_INFINITY }: ExportScope,
    after?: ExportMark,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly ExportedAttempt[], void> {
    const endpointId = endpoint === undefined ? undefined : await requireEndpoint(accountId, endpoint);
    const deliveries = walkDeliveries({ accountId, endpointId, range }, after, signal);
    let left = limit;
    for await (const batch of inBatches(deliveries, DELIVERIES_AT_ONCE)) {
      const read = await Promise.all(batch.map((delivery) => attemptsOf(delivery, after)));
      const attempts = read.flat().slice(0, left);
      if (attempts.length > 0) yield attempts;
      signal?.throwIfAborted();
      left -= attempts.length;
      if (left === 0) return;
    }
  };

  async function attemptsOf(
    delivery: WalkedDelivery,
    after: ExportMark | undefined,
  ): Promise<readonly ExportedAttempt[]> {
    const { endpointId, eventId, createdAt } = delivery;
    const { state } = await deliveryStore.readWithLength(endpointId, eventId);
    const done = after?.eventId === eventId && after.endpointId === endpointId ? after.attempts : 0;
    if (state.attempts.length <= done) return [];
    const status = await shownStatusOf(heldDeliveries, delivery, state.status);
    const exported = state.attempts.map((attempt, index) => ({
      ...delivery,
      id: deliveryIdOf(delivery),
      status,
      attempt,
      mark: { createdAt, eventId, endpointId, attempts: index + 1 },
    }));
    return exported.slice(done);
  }
}

export type ExportAttempts = ReturnType<typeof createExportAttempts>;

import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type DeliveryId, deliveryIdOf } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import { inBatches } from '../platform/batches';
import type { TimeRange } from '../platform/redis-timeline';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { type ShownStatus, shownStatusOf } from './delivery-standings';
import type { DeliveryKey, ListMark, WalkedDelivery, WalkQuery } from './history-source';
import type { WholeHistory } from './whole-history';

/** The scope of an export: the attempts of events that were accepted in the range. */
export interface ExportScope {
  readonly range: TimeRange;
  /** Only deliveries to this endpoint. */
  readonly endpoint?: EndpointRef | undefined;
  /** The largest number of attempts. */
  readonly limit?: number | undefined;
}

/** The position of an export. */
export interface ExportCursor extends DeliveryKey {
  /** How many of the delivery's attempts are exported. */
  readonly attempts: number;
}

/** An attempt, and the state of its delivery when it was read. */
export interface ExportedAttempt extends WalkedDelivery {
  readonly id: DeliveryId;
  readonly status: ShownStatus;
  readonly attempt: Attempt;
  readonly cursor: ExportCursor;
}

// Logs hold the beginnings of responses: with the default sizes ten failed attempts of each are 400 KB.
const DELIVERIES_AT_ONCE = 10;
// Ids only.
const WALKED_AT_ONCE = 100;

export interface ExportsParts {
  readonly history: WholeHistory;
  readonly endpointStore: EndpointStore;
  readonly heldDeliveries: HeldDeliveries;
}

/** What an account takes with it. */
export class Exports {
  constructor(private readonly parts: ExportsParts) {}

  /**
   * Go through an account's attempts, those of the oldest event first. It reads ahead only on demand and holds
   * few deliveries. Lines of a log are only ever appended, so each attempt keeps its position. Deliveries that
   * come or go meanwhile move no others. Events that are gone are left out.
   *
   * @param abortSignal ends it, also while nothing is found.
   * @throws AppError `not_found`, at the first step, when the account has no such endpoint.
   */
  async *attempts(
    accountId: AccountId,
    { range, endpoint, limit = Number.POSITIVE_INFINITY }: ExportScope,
    after?: ExportCursor,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<readonly ExportedAttempt[], void> {
    const endpointId =
      endpoint === undefined ? undefined : await requireEndpoint(this.parts, accountId, endpoint);
    const query = { accountId, endpointId, ...range };
    const deliveries = this.#walk(query, after && justBefore(after), abortSignal);
    let left = limit;
    for await (const batch of inBatches(deliveries, DELIVERIES_AT_ONCE)) {
      const attempts = (await this.#attemptsOf(accountId, batch, after)).slice(0, left);
      if (attempts.length > 0) yield attempts;
      abortSignal?.throwIfAborted();
      left -= attempts.length;
      if (left === 0) return;
    }
  }

  async *#walk(
    query: WalkQuery,
    from: ListMark | undefined,
    abortSignal: AbortSignal | undefined,
  ): AsyncGenerator<WalkedDelivery, void> {
    const { history } = this.parts;
    for (let after = from, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      abortSignal?.throwIfAborted();
      const { entries, nextCursor } = await history.walkDeliveries(query, { limit: WALKED_AT_ONCE, after });
      for (const { row } of entries) if (row) yield row;
      after = nextCursor;
    }
  }

  async #attemptsOf(
    accountId: AccountId,
    deliveries: readonly WalkedDelivery[],
    after: ExportCursor | undefined,
  ): Promise<readonly ExportedAttempt[]> {
    const { history, heldDeliveries } = this.parts;
    const states = await history.readStates(accountId, deliveries);
    const exported = deliveries.map(async (delivery, i): Promise<readonly ExportedAttempt[]> => {
      const { endpointId, eventId, createdAt } = delivery;
      const state = states[i];
      const done = after?.eventId === eventId && after.endpointId === endpointId ? after.attempts : 0;
      if (state === undefined || state.attempts.length <= done) return [];
      const status = await shownStatusOf(heldDeliveries, delivery, state);
      if (status === undefined) return [];
      const all = state.attempts.map((attempt, index) => ({
        ...delivery,
        id: deliveryIdOf(delivery),
        status,
        attempt,
        cursor: { createdAt, eventId, endpointId, attempts: index + 1 },
      }));
      return all.slice(done);
    });
    return (await Promise.all(exported)).flat();
  }
}

// All ids have the same length, so only the endpoint itself comes between the two.
function justBefore({ createdAt, eventId, endpointId }: ExportCursor): ListMark {
  return { createdAt, eventId, endpointId: `${endpointId}~` as EndpointId };
}

import type { AccountId } from '../domain/account';
import type { DeliveryState } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { ReplayId, ReplayOrder } from '../domain/replay';
import type { EventMark } from '../events/redis-event-index';
import type { Deliveries, Delivery } from '../history/deliveries';
import { matchesFilter, type RecordFilter } from '../history/delivery-standings';
import type { WholeHistory } from '../history/whole-history';
import { chunksOf, type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import type { Mark } from '../platform/redis-timeline';
import type { ReplayStore } from './redis-replay-store';
import type { Replays } from './replays';

/** The results of the deliveries that a replay has sent, as they are now. */
export interface ReplayResults {
  /** How many were looked at: those whose events were accepted last. The others sum up to it. */
  readonly counted: number;
  readonly delivered: number;
  /** An attempt follows, or it is held. */
  readonly pending: number;
  /** Its last attempt failed, and no other follows. */
  readonly failed: number;
  /** It was cancelled, or a newer event took its place. */
  readonly cancelled: number;
}

/** Each of its deliveries has one of these. */
export const replayResults = ['delivered', 'pending', 'failed', 'cancelled'] as const;
export type ReplayResult = (typeof replayResults)[number];

interface ReplayedFilter extends RecordFilter {
  readonly result?: ReplayResult | undefined;
}

export interface ReplayedDeliveriesParts {
  readonly replays: Replays;
  readonly replayStore: ReplayStore;
  readonly history: WholeHistory;
  readonly deliveries: Deliveries;
}

// Some 50 µs of processor time each: its log is read whole.
const MOST_COUNTED = 1_000;
const READ_AT_ONCE = 50;
const MOST_SCANNED = 1_000;

/** The deliveries that a replay has sent. */
export class ReplayedDeliveries {
  constructor(private readonly parts: ReplayedDeliveriesParts) {}

  /**
   * List them in pages, those of the newest event first.
   *
   * @throws AppError `not_found`, also for another account's replay; `history_unavailable`.
   */
  async list(
    accountId: AccountId,
    id: ReplayId,
    filter: ReplayedFilter,
    limit: number,
    before?: EventMark,
  ): Promise<Page<Delivery, EventMark>> {
    const { replays, deliveries } = this.parts;
    const { endpointId } = await replays.read(accountId, id);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    return await scanPage<EventMark & { readonly delivery: Delivery | undefined }, Delivery, EventMark>({
      limit,
      before,
      mostScanned: isFiltered ? MOST_SCANNED : SCANNED_ONE_BY_ONE,
      readBatch: async (size, after) => {
        const marks = await this.#sentBy(id, size, after);
        const wanted = await this.#withResult(accountId, endpointId, marks, filter.result);
        const read = await deliveries.readSome(accountId, endpointId, wanted, filter.attempts);
        const found = new Map(wanted.map(({ eventId }, i) => [eventId, read[i]]));
        const entries = marks.map((mark) => ({ ...mark, delivery: found.get(mark.eventId) }));
        return { entries, nextCursor: marks.length < size ? undefined : marks.at(-1) };
      },
      cursorOf: ({ eventId, createdAt }) => ({ eventId, createdAt }),
      show: async ({ delivery }) => (delivery && matchesFilter(delivery, filter) ? delivery : undefined),
    });
  }

  /** @throws AppError `history_unavailable` when some have moved, and can't be read. */
  async count({ id, accountId, endpointId }: ReplayOrder): Promise<ReplayResults> {
    const results = { counted: 0, delivered: 0, pending: 0, failed: 0, cancelled: 0 };
    for (const some of chunksOf(await this.#sentBy(id, MOST_COUNTED), READ_AT_ONCE)) {
      const states = await this.parts.history.readStates(
        accountId,
        some.map((mark) => ({ ...mark, endpointId })),
      );
      for (const state of states) {
        // Its retention is over.
        if (!state || state.isForgotten) continue;
        results.counted += 1;
        results[resultOf(state)] += 1;
      }
    }
    return results;
  }

  async #withResult(
    accountId: AccountId,
    endpointId: EndpointId,
    marks: readonly EventMark[],
    result: ReplayResult | undefined,
  ): Promise<readonly EventMark[]> {
    if (result === undefined) return marks;
    const states = await this.parts.history.readStates(
      accountId,
      marks.map((mark) => ({ ...mark, endpointId })),
    );
    return marks.filter((_mark, i) => states[i] && resultOf(states[i]) === result);
  }

  async #sentBy(id: ReplayId, limit: number, after?: EventMark): Promise<readonly EventMark[]> {
    const marks = await this.parts.replayStore.listSent(id, limit, after && markOf(after));
    return marks.map(({ id: eventId, at: createdAt }) => ({ eventId: eventId as EventId, createdAt }));
  }
}

function markOf({ eventId: id, createdAt: at }: EventMark): Mark {
  return { id, at };
}

// One that was delivered before stays so, whatever the attempt of the replay brings.
function resultOf({ isOpen, status, lastOutcome }: DeliveryState): ReplayResult {
  if (isOpen) return 'pending';
  if (status === 'cancelled' || status === 'superseded') return 'cancelled';
  return lastOutcome === 'delivered' ? 'delivered' : 'failed';
}

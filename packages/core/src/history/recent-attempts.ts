import { setImmediate } from 'node:timers/promises';
import type { HeavyTurns } from '../accounts/heavy-turns';
import type { AccountId } from '../domain/account';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf } from '../platform/batches';
import { SharedResults } from '../platform/caches';
import type { ListMark, WalkedDelivery } from './history-source';
import { readEntries, walkedOf } from './list-entries';
import { countedLogOf, type Rollup, type RollupQuery, RollupTally } from './rollups';

/** The attempts recorded in Redis. */
export interface RecentRollups {
  readonly rollups: readonly Rollup[];
  /** There were too many deliveries: of events that were accepted before this time nothing is counted. */
  readonly countedFrom: number | undefined;
}

/** A delivery that has been tried, and what is counted of its log. */
export interface RecentDelivery extends WalkedDelivery {
  readonly log: string;
}

export interface RecentAttemptsParts {
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  /** An account's attempts are read in its turn. Absent: at once. */
  readonly heavyTurns?: HeavyTurns | undefined;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
  readonly mostDeliveries?: number;
}

// It takes some tens of microseconds of processor time each, so this is half a second.
const MOST_DELIVERIES = 20_000;
// A log may have tens of kilobytes.
const READ_TOGETHER = 25;
const LISTED_TOGETHER = 250;

/** For so long the same counts are given again: this bounds their cost, however often clients ask. */
export const RECENT_SHOWN_FOR_MS = 10_000;
const REMEMBERED = 200;

type Add = (delivery: WalkedDelivery, log: string) => void;

interface Walk {
  readonly adds: Add[];
  readonly countedFrom: Promise<number | undefined>;
}

/** The attempts of an account that Redis has recorded. */
export class RecentAttempts {
  readonly #counts: SharedResults<RecentRollups>;
  /** The next walk of an account: it has not begun yet. */
  readonly #next = new Map<AccountId, Walk>();

  constructor(private readonly parts: RecentAttemptsParts) {
    this.#counts = new SharedResults({
      entries: REMEMBERED,
      shownForMs: RECENT_SHOWN_FOR_MS,
      now: parts.now,
    });
  }

  /** Count them. Concurrent requests share the work. */
  async count(query: RollupQuery): Promise<RecentRollups> {
    const { accountId, grain, dimension, value = '', since, until } = query;
    const name = [accountId, grain, dimension, value, since, until].join(' ');
    return await this.#counts.get(name, async () => {
      const tally = new RollupTally(query);
      const countedFrom = await this.#readAll(accountId, (delivery, log) => tally.add(delivery, log));
      return { rollups: tally.rollups(), countedFrom };
    });
  }

  /** Read the deliveries that have been tried: each time again, those of the newest events first. */
  async read(accountId: AccountId): Promise<readonly RecentDelivery[]> {
    const deliveries: RecentDelivery[] = [];
    await this.#readAll(accountId, ({ createdAt, eventId, endpointId, type }, log) =>
      deliveries.push({ createdAt, eventId, endpointId, type, log: countedLogOf(log) }),
    );
    return deliveries;
  }

  /**
   * Walk once for all who asked meanwhile: a page asks for several counts at once. Gives when the event was accepted
   * before which it has looked at none.
   */
  async #readAll(accountId: AccountId, add: Add): Promise<number | undefined> {
    const next = this.#next.get(accountId);
    if (next) {
      next.adds.push(add);
      return await next.countedFrom;
    }
    const { heavyTurns } = this.parts;
    const adds = [add];
    const begin = async () => {
      await setImmediate();
      this.#next.delete(accountId);
      return await this.#walk(accountId, (delivery, log) => adds.forEach((each) => each(delivery, log)));
    };
    const countedFrom = heavyTurns ? heavyTurns.run(accountId, begin) : begin();
    const walk = { adds, countedFrom };
    this.#next.set(accountId, walk);
    try {
      return await countedFrom;
    } finally {
      // It was refused its turn.
      if (this.#next.get(accountId) === walk) this.#next.delete(accountId);
    }
  }

  async #walk(accountId: AccountId, add: Add): Promise<number | undefined> {
    let left = this.parts.mostDeliveries ?? MOST_DELIVERIES;
    let after: ListMark | undefined;
    do {
      const span = { limit: Math.min(left, LISTED_TOGETHER), after };
      // An attempt of today may be of any older event.
      const { entries, nextCursor } = await readEntries(this.parts.eventStore, { accountId }, span);
      const deliveries = entries.flatMap((entry) => walkedOf(entry) ?? []);
      for (const some of chunksOf(deliveries, READ_TOGETHER)) await this.#readSome(some, add);
      left -= entries.length;
      after = nextCursor;
    } while (after !== undefined && left > 0);
    return after?.createdAt;
  }

  async #readSome(deliveries: readonly WalkedDelivery[], add: Add): Promise<void> {
    const logs = await this.parts.deliveryStore.readLogs(deliveries);
    for (const [i, delivery] of deliveries.entries()) {
      const log = logs[i] ?? '';
      if (log !== '') add(delivery, log);
    }
    await setImmediate();
  }
}

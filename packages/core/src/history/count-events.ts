import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import type { EventMark, MarkPage } from '../events/redis-event-index';
import { invalidRequest } from '../platform/app-error';
import { SharedResults } from '../platform/caches';
import type { Clock } from '../platform/clock';
import type { TimeRange } from '../platform/redis-timeline';
import { MOST_POINTS, wholeIntervals } from './read-metrics';
import { ACCEPTED, GRAIN_MS, type MovedRollups, type MovedRollupsQuery, type RollupGrain } from './rollups';

export interface EventCountsQuery {
  readonly interval: RollupGrain;
  /** Both in milliseconds since the Unix epoch. By default the last 24 hours. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** The events that were accepted within an interval. */
export interface EventCount {
  /** When it begins. Milliseconds since the Unix epoch. */
  readonly start: number;
  readonly events: number;
}

export interface EventCounts {
  /** By time. Those without events are left out. */
  readonly points: readonly EventCount[];
  /** Both are multiples of the interval. */
  readonly since: number;
  readonly until: number;
}

/** From `since` on, and before `until`. Milliseconds since the Unix epoch. */
interface Span {
  readonly since: number;
  readonly until: number;
}

/** What of an account's events has moved to the history. */
export interface MovedEvents {
  /** @throws AppError `history_unavailable`. */
  read(query: MovedRollupsQuery): Promise<MovedRollups>;
  /** All that were accepted later are in Redis. `undefined`: that is not known. Milliseconds since the Unix epoch. */
  reach(accountId: AccountId): Promise<number | undefined>;
  /** Those of these that are there. @throws AppError `history_unavailable`. */
  known(accountId: AccountId, events: readonly EventMark[]): Promise<ReadonlySet<EventId>>;
}

export interface EventCountsOptions {
  readonly eventStore: {
    list(accountId: AccountId, limit: number, before?: EventMark, range?: TimeRange): Promise<MarkPage>;
    countIn(accountId: AccountId, ranges: readonly Span[]): Promise<readonly number[]>;
  };
  /** Absent: there is no history. */
  readonly movedEvents?: MovedEvents | undefined;
  readonly clock: Clock;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
}

/** For so long the same counts are given again: this bounds their cost, however often clients ask. */
const SHOWN_FOR_MS = 5_000;
const REMEMBERED = 200;
// An event is in both places for a moment, while it moves. Of more than these, the oldest count twice then.
const MOST_IN_BOTH = 5_000;
const MOST_ROLLUPS = 50_000;

/** Counts the events that an account has had accepted. */
export class EventCounter {
  readonly #counts: SharedResults<EventCounts>;

  constructor(private readonly options: EventCountsOptions) {
    this.#counts = new SharedResults({
      entries: REMEMBERED,
      shownForMs: SHOWN_FOR_MS,
      now: options.now,
    });
  }

  /**
   * Count them over time: without a history what Redis keeps.
   *
   * @throws AppError `invalid_request` for more than 2,000 intervals; `history_unavailable` when some of it has moved, and can't
   *   be read.
   */
  async count(accountId: AccountId, query: EventCountsQuery): Promise<EventCounts> {
    const { interval } = query;
    const until = Math.min(query.until ?? Infinity, this.options.clock());
    const range = wholeIntervals(interval, query.since ?? until - GRAIN_MS['1d'], until);
    const starts = startsOf(range, GRAIN_MS[interval]);
    if (starts.length > MOST_POINTS) {
      const detail = `must be longer: with ${interval} there are more than ${MOST_POINTS} intervals`;
      throw invalidRequest([{ pointer: '?/interval', detail }]);
    }
    const name = [accountId, interval, range.since, range.until].join(' ');
    return await this.#counts.get(name, () => this.#count(accountId, interval, range, starts));
  }

  // What moves is in the history before it leaves Redis, so Redis is read first.
  async #count(
    accountId: AccountId,
    interval: RollupGrain,
    range: Span,
    starts: readonly number[],
  ): Promise<EventCounts> {
    const { eventStore, movedEvents } = this.options;
    const lengthMs = GRAIN_MS[interval];
    const ranges = starts.map((since) => ({ since, until: since + lengthMs }));
    const [recent, { marks }] = await Promise.all([
      eventStore.countIn(accountId, ranges),
      movedEvents ? eventStore.list(accountId, MOST_IN_BOTH, undefined, range) : NO_MARKS,
    ]);
    const sums = new Map(starts.map((start, i) => [start, recent[i] ?? 0]));
    const add = (at: number, events: number) => {
      const start = Math.floor(at / lengthMs) * lengthMs;
      sums.set(start, (sums.get(start) ?? 0) + events);
    };
    const reach = await movedEvents?.reach(accountId);
    if (movedEvents && (reach === undefined || range.since <= reach)) {
      const query = { accountId, grain: interval, dimension: ACCEPTED, ...range, recent: [] } as const;
      const { rollups } = await movedEvents.read({ ...query, limit: MOST_ROLLUPS });
      for (const { start, attempts } of rollups) add(start, attempts);
      const known = marks.length === 0 ? NONE : await movedEvents.known(accountId, marks);
      for (const { eventId, createdAt } of marks) if (known.has(eventId)) add(createdAt, -1);
    }
    const points = starts.map((start) => ({ start, events: sums.get(start) ?? 0 }));
    return { points: points.filter(({ events }) => events > 0), ...range };
  }
}

const NO_MARKS: MarkPage = { marks: [], nextCursor: undefined };
const NONE: ReadonlySet<EventId> = new Set();

function startsOf({ since, until }: Span, lengthMs: number): readonly number[] {
  const length = Math.min(Math.max(0, Math.ceil((until - since) / lengthMs)), MOST_POINTS + 1);
  return Array.from({ length }, (_, i) => since + i * lengthMs);
}

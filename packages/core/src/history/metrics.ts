import type { AccountId } from '../domain/account';
import { attemptOutcomes } from '../domain/attempt';
import type { EventId } from '../domain/event';
import type { MarkPage } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import { invalidRequest } from '../platform/app-error';
import { SharedResults } from '../platform/caches';
import type { Clock } from '../platform/clock';
import { mergeLogs } from './merge-logs';
import {
  type MetricsInterval,
  type MetricsPoint,
  MOST_POINTS,
  type PointShape,
  pointsOf,
  type Range,
  tooManyPoints,
  wholeIntervals,
} from './metrics-points';
import type { MovedHistory } from './moved-history';
import type { RecentAttempts, RecentDelivery } from './recent-attempts';
import {
  ACCEPTED,
  GRAIN_MS,
  type MovedRollups,
  type RollupDimension,
  type RollupGrain,
  RollupTally,
  rollupGrains,
} from './rollups';

export interface OnlyOne {
  readonly dimension: RollupDimension;
  readonly value: string;
}

/** Which attempts to count, and how to group them. */
export interface MetricsQuery {
  readonly interval: MetricsInterval;
  /** Absent: all of a time together. */
  readonly groupBy?: RollupDimension | undefined;
  /** Of one webhook or type alone. If there is also `groupBy`, then by the same. */
  readonly only?: OnlyOne | undefined;
  /** Both in milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface AttemptCounts {
  /** By time, then by group. Those without attempts are left out. */
  readonly points: readonly MetricsPoint[];
  /**
   * A multiple of the interval. Or later: there was too much, and of events that were accepted before it
   * nothing is counted. Milliseconds since the Unix epoch.
   */
  readonly since: number;
  /** A multiple of the interval. */
  readonly until: number;
  /** `recent`: of the attempts in Redis alone, since there is no history. */
  readonly source: 'recent' | 'history';
}

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

/** What the counts of one request are made of. */
interface Counted {
  readonly grain: RollupGrain;
  readonly dimension: RollupDimension;
  readonly value: string | undefined;
  readonly shape: PointShape;
}

/** What a total is added up from. */
const MOST_ROLLUPS = 50_000;
// Redis has no more than the last hours of most accounts.
const RECENT_MS = GRAIN_MS['1d'];
const DEFAULT_MS: Readonly<Record<MetricsInterval, number>> = {
  total: GRAIN_MS['1d'],
  '1m': GRAIN_MS['1d'],
  '5m': GRAIN_MS['1d'],
  '1h': GRAIN_MS['1d'],
  '1d': 30 * GRAIN_MS['1d'],
};

/** For so long the same counts are given again: this bounds their cost, however often clients ask. */
const SHOWN_FOR_MS = 5_000;
const REMEMBERED = 200;
// An event is in both places for a moment, while it moves. Of more than these, the oldest count twice then.
const MOST_IN_BOTH = 5_000;

export interface MetricsParts {
  readonly recentAttempts: RecentAttempts;
  readonly eventStore: EventStore;
  /** Absent: there is no history. */
  readonly movedHistory?: MovedHistory | undefined;
  readonly clock: Clock;
}

/** Counts over time, of an account's attempts and of its events. */
export class Metrics {
  readonly #eventCounts = new SharedResults<EventCounts>({ entries: REMEMBERED, shownForMs: SHOWN_FOR_MS });

  constructor(private readonly parts: MetricsParts) {}

  /**
   * Count the attempts of an account over time: without a history those of the last 24 hours, from what Redis has.
   *
   * @throws AppError `invalid_request` for more than 2,000 points, and for an interval that needs a history;
   *   `history_unavailable` when some of it has moved, and can't be read.
   */
  async countAttempts(accountId: AccountId, query: MetricsQuery): Promise<AttemptCounts> {
    const { movedHistory } = this.parts;
    return movedHistory
      ? await this.#countAll(movedHistory, accountId, query)
      : await this.#countRecent(accountId, query);
  }

  async #countRecent(accountId: AccountId, query: MetricsQuery): Promise<AttemptCounts> {
    const { recentAttempts, clock } = this.parts;
    if (query.interval === '1d') {
      const detail =
        'must be shorter: days need HISTORY_DATABASE_URL, without which only recent attempts are kept';
      throw invalidRequest([{ pointer: '?/interval', detail }]);
    }
    const { range, ...counted } = countedOf(query, clock(), clock() - RECENT_MS);
    const { grain, dimension, value, shape } = counted;
    const wanted = { accountId, grain, dimension, value, ...range };
    const { rollups, countedFrom = -Infinity } = await recentAttempts.count(wanted);
    const points = pointsOf(rollups, shape);
    if (points.length > MOST_POINTS) throw tooManyPoints({ interval: query.interval, count: points.length });
    return { source: 'recent', points, since: Math.max(range.since, countedFrom), until: range.until };
  }

  // What moves is in the history before it leaves Redis, so Redis is read first. What is in both counts as the
  // mover would write it.
  async #countAll(
    { movedStore, pgRollups }: MovedHistory,
    accountId: AccountId,
    query: MetricsQuery,
  ): Promise<AttemptCounts> {
    const { recentAttempts, clock } = this.parts;
    const { interval } = query;
    const { range, dimension, value, shape, grain: first } = countedOf(query, clock());
    if (range.since >= range.until) return { source: 'history', points: [], ...range };
    const isTotal = shape.start !== undefined;
    const isTooLong = (grain: RollupGrain) => {
      const times = wholeIntervals(grain, range.since, range.until);
      return !isTotal && times.until - times.since > MOST_POINTS * GRAIN_MS[grain];
    };
    const longer = isTotal ? [] : rollupGrains.slice(rollupGrains.indexOf(first) + 1);
    if (!shape.isGrouped && isTooLong(first)) {
      throw tooManyPoints({ interval, fitting: longer.find((grain) => !isTooLong(grain)) });
    }

    const recent = await recentAttempts.read(accountId);
    const movedUntil = await movedStore.attemptsMovedUntil(accountId);

    /** Gives `undefined` if there are too many. */
    const read = async (grain: RollupGrain): Promise<readonly MetricsPoint[] | undefined> => {
      if (isTooLong(grain)) return undefined;
      const times = wholeIntervals(grain, range.since, range.until);
      const wanted = { accountId, grain, dimension, value, ...times };
      const hasMoved = movedUntil === undefined || times.since <= movedUntil;
      const limit = mostRollups(shape);
      const moved = hasMoved ? await pgRollups.read({ ...wanted, limit, recent }) : NOTHING_MOVED;
      if (isTotal && moved.rollups.length >= limit) return undefined;
      const tally = new RollupTally(wanted);
      for (const [i, delivery] of recent.entries()) addRecent(tally, delivery, moved.logs[i]);
      const points = pointsOf([...moved.rollups, ...tally.rollups()], shape);
      return points.length > MOST_POINTS ? undefined : points;
    };

    const points = await read(first);
    if (points) return { source: 'history', points, ...range };
    for (const grain of longer) {
      if (await read(grain)) throw tooManyPoints({ interval, fitting: grain });
    }
    throw tooManyPoints({ interval });
  }

  /**
   * Count the events that an account has had accepted, over time: without a history what Redis keeps.
   *
   * @throws AppError `invalid_request` for more than 2,000 intervals; `history_unavailable` when some of it has moved, and can't
   *   be read.
   */
  async countEvents(accountId: AccountId, query: EventCountsQuery): Promise<EventCounts> {
    const { interval } = query;
    const until = Math.min(query.until ?? Infinity, this.parts.clock());
    const range = wholeIntervals(interval, query.since ?? until - GRAIN_MS['1d'], until);
    const starts = startsOf(range, GRAIN_MS[interval]);
    if (starts.length > MOST_POINTS) {
      const detail = `must be longer: with ${interval} there are more than ${MOST_POINTS} intervals`;
      throw invalidRequest([{ pointer: '?/interval', detail }]);
    }
    const name = [accountId, interval, range.since, range.until].join(' ');
    return await this.#eventCounts.get(name, () => this.#countAccepted(accountId, interval, range, starts));
  }

  // What moves is in the history before it leaves Redis, so Redis is read first.
  async #countAccepted(
    accountId: AccountId,
    interval: RollupGrain,
    range: Range,
    starts: readonly number[],
  ): Promise<EventCounts> {
    const { eventStore, movedHistory } = this.parts;
    const lengthMs = GRAIN_MS[interval];
    const ranges = starts.map((since) => ({ since, until: since + lengthMs }));
    const [recent, { marks }] = await Promise.all([
      eventStore.countIn(accountId, ranges),
      movedHistory ? eventStore.list(accountId, MOST_IN_BOTH, undefined, range) : NO_MARKS,
    ]);
    const sums = new Map(starts.map((start, i) => [start, recent[i] ?? 0]));
    const add = (at: number, events: number) => {
      const start = Math.floor(at / lengthMs) * lengthMs;
      sums.set(start, (sums.get(start) ?? 0) + events);
    };
    const movedUntil = await movedHistory?.movedStore.movedUntil(accountId);
    if (movedHistory && (movedUntil === undefined || range.since <= movedUntil)) {
      const query = { accountId, grain: interval, dimension: ACCEPTED, ...range, recent: [] } as const;
      const { rollups } = await movedHistory.pgRollups.read({ ...query, limit: MOST_ROLLUPS });
      for (const { start, attempts } of rollups) add(start, attempts);
      const known = marks.length === 0 ? NONE : await movedHistory.pgRollups.known(accountId, marks);
      for (const { eventId, createdAt } of marks) if (known.has(eventId)) add(createdAt, -1);
    }
    const points = starts.map((start) => ({ start, events: sums.get(start) ?? 0 }));
    return { points: points.filter(({ events }) => events > 0), ...range };
  }
}

function countedOf(
  { interval, groupBy, only, ...given }: MetricsQuery,
  now: number,
  earliest = -Infinity,
): Counted & { readonly range: Range } {
  const until = Math.min(given.until ?? Infinity, now);
  const since = Math.max(given.since ?? until - DEFAULT_MS[interval], earliest);
  const grain = interval === 'total' ? grainOfTotal(until - since) : interval;
  const range = wholeIntervals(grain, since, until);
  const dimension = groupBy ?? only?.dimension ?? 'outcome';
  const isGrouped = groupBy !== undefined;
  const shape = { isGrouped, ...(interval === 'total' && { start: range.since }) };
  return { grain, dimension, value: only?.value, shape, range };
}

// Fewer to add up the longer it is: of 500 webhooks these are 24,000 at most, or a month by the day.
function grainOfTotal(lengthMs: number): RollupGrain {
  if (lengthMs <= 4 * GRAIN_MS['1h']) return '5m';
  return lengthMs <= 2 * GRAIN_MS['1d'] ? '1h' : '1d';
}

const NOTHING_MOVED: MovedRollups = { rollups: [], logs: [] };

/** With groups, each rollup is a point; without, each outcome of a time is one. */
function mostRollups({ isGrouped, start }: PointShape): number {
  if (start !== undefined) return MOST_ROLLUPS;
  return isGrouped ? MOST_POINTS + 1 : MOST_POINTS * attemptOutcomes.length;
}

function addRecent(tally: RollupTally, delivery: RecentDelivery, moved: string | undefined): void {
  if (moved === undefined) return tally.add(delivery, delivery.log);
  tally.add(delivery, moved, -1);
  tally.add(delivery, mergeLogs(moved, delivery.log));
}

const NO_MARKS: MarkPage = { marks: [], nextCursor: undefined };
const NONE: ReadonlySet<EventId> = new Set();

function startsOf({ since, until }: Range, lengthMs: number): readonly number[] {
  const length = Math.min(Math.max(0, Math.ceil((until - since) / lengthMs)), MOST_POINTS + 1);
  return Array.from({ length }, (_, i) => since + i * lengthMs);
}

import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type AttemptLine, isAttempt } from '../domain/delivery-line';
import { stepsOf } from '../domain/delivery-log';
import type { WalkedDelivery } from './history-source';

/** What rollups are grouped by. */
export const rollupDimensions = ['webhook_id', 'event_type', 'outcome'] as const;
export type RollupDimension = (typeof rollupDimensions)[number];

/** Of what is accepted, not of attempts: events, by their type. */
export const ACCEPTED = 'accepted';

/** How long a rollup's time is. Times begin at multiples of it since the Unix epoch. */
export const rollupGrains = ['1m', '5m', '1h', '1d'] as const;
export type RollupGrain = (typeof rollupGrains)[number];

const MINUTE_MS = 60_000;
export const GRAIN_MS: Readonly<Record<RollupGrain, number>> = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '1d': 24 * 60 * MINUTE_MS,
};

export interface RollupQuery {
  readonly accountId: AccountId;
  readonly grain: RollupGrain;
  readonly dimension: RollupDimension;
  /** One webhook's id, one type or one outcome. `undefined`: all. */
  readonly value?: string | undefined;
  /** Milliseconds since the Unix epoch, both. */
  readonly since: number;
  readonly until: number;
}

export interface MovedRollupsQuery extends Omit<RollupQuery, 'dimension'> {
  readonly dimension: RollupDimension | typeof ACCEPTED;
  /** The most rollups of what is kept for equally long. */
  readonly limit: number;
  /** Deliveries that were read in Redis before. */
  readonly recent: readonly WalkedDelivery[];
}

/** All of the same moment. */
export interface MovedRollups {
  readonly rollups: readonly Rollup[];
  /**
   * What is counted of the logs of the recent deliveries, in their order, as it is in these rollups. `undefined`: the
   * delivery has never moved.
   */
  readonly logs: readonly (string | undefined)[];
}

/** The attempts of an account that began within a time, to one webhook say. */
export interface Rollup {
  /** When the time begins. Milliseconds since the Unix epoch. */
  readonly start: number;
  /** A webhook's id, a type, or an outcome. */
  readonly value: string;
  readonly attempts: number;
  readonly delivered: number;
  /** Attempts after the first, but for those of redeliveries and replays. */
  readonly retried: number;
  /** Deliveries, at the time of their last attempt. */
  readonly exhausted: number;
  /** How long the attempts took. */
  readonly durations: Histogram;
  /** From the acceptance to the end of the attempt that was accepted, likewise. */
  readonly lags: Histogram;
}

/** How many times of each bucket. */
export type Histogram = ReadonlyMap<number, number>;

// Neighbouring buckets differ by 4.4 %, so that a percentile is right within 2.2 %.
const BUCKETS_PER_DOUBLING = 16;

export function bucketOf(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.floor(BUCKETS_PER_DOUBLING * Math.log2(durationMs));
}

/**
 * The times below which these shares of all that was counted are, in milliseconds: right within 2.2 %, and at
 * 1 ms at least. `undefined`: nothing was counted.
 */
export function percentilesOf(
  histograms: readonly Histogram[],
  shares: readonly number[],
): readonly (number | undefined)[] {
  // By its bucket: they need not be sorted, which takes most of the time.
  const counts: number[] = [];
  let total = 0;
  for (const histogram of histograms) {
    // Some hundred thousand in all: without an array for each.
    for (const bucket of histogram.keys()) {
      const count = histogram.get(bucket) ?? 0;
      counts[bucket] = (counts[bucket] ?? 0) + count;
      total += count;
    }
  }
  return shares.map((share) => (total > 0 ? percentileOf(counts, total * share) : undefined));
}

function percentileOf(counts: readonly (number | undefined)[], least: number): number | undefined {
  let passed = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    const count = counts[bucket] ?? 0;
    passed += count;
    if (count > 0 && passed >= least) return 2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING);
  }
  return undefined;
}

/** What is added up for a rollup. */
export interface RollupCounts {
  attempts: number;
  delivered: number;
  retried: number;
  exhausted: number;
  readonly durations: Map<number, number>;
  readonly lags: Map<number, number>;
}

export function newCounts(): RollupCounts {
  return { attempts: 0, delivered: 0, retried: 0, exhausted: 0, durations: new Map(), lags: new Map() };
}

export interface CountedAttempt extends Pick<Attempt, 'startedAt' | 'durationMs' | 'number'> {
  readonly outcome: string;
  /** Whether the event's own delivery made it, and no redelivery or replay. */
  readonly isOfSchedule: boolean;
}

/** The triggers of attempts that somebody asked for, long after the event. */
const ASKED: ReadonlySet<string | undefined> = new Set(['manual', 'replay']);

/**
 * @param round as in the attempt's line. Absent: the first one.
 * @param firstTrigger of the delivery's first attempt: a replay may be what made the delivery.
 */
export function isOfSchedule(round: number | null | undefined, firstTrigger: string | undefined): boolean {
  return (round ?? 1) === 1 && !ASKED.has(firstTrigger);
}

/**
 * Times are in milliseconds. Attempts of a redelivery or a replay are no retries, and how long ago the event was accepted
 * tells nothing about them.
 *
 * @param by -1 for one that was counted before, and is taken back.
 */
export function countAttempt(
  counts: RollupCounts,
  { startedAt, durationMs, number, outcome, isOfSchedule: isCounted }: CountedAttempt,
  acceptedAt: number,
  by: 1 | -1 = 1,
): void {
  counts.attempts += by;
  if (number > 1 && isCounted) counts.retried += by;
  addTo(counts.durations, bucketOf(durationMs), by);
  if (outcome !== 'delivered') return;
  counts.delivered += by;
  if (isCounted) addTo(counts.lags, bucketOf(startedAt + durationMs - acceptedAt), by);
}

export function addHistogram(sum: Map<number, number>, added: Histogram): void {
  for (const [bucket, times] of added) addTo(sum, bucket, times);
}

function addTo(sum: Map<number, number>, bucket: number, times: number): void {
  sum.set(bucket, (sum.get(bucket) ?? 0) + times);
}

interface Sum extends RollupCounts {
  readonly start: number;
  readonly value: string;
}

/** Which attempt of its log has exhausted a delivery that is exhausted. One that came late decides nothing. */
export function isDeciding({
  isLate,
  outcome,
}: {
  readonly isLate: boolean;
  readonly outcome: string;
}): boolean {
  return !isLate || outcome === 'delivered';
}

/**
 * A log without what is not counted: it has the same attempts with the same results, and takes a few hundred bytes.
 */
export function countedLogOf(log: string): string {
  return stepsOf(log)
    .map(({ line, text }) => `${isAttempt(line) ? JSON.stringify(countedLineOf(line)) : text}\n`)
    .join('');
}

function countedLineOf({ n, t, d, o, a, g, l, ro, r }: AttemptLine): AttemptLine {
  return { n, t, d, o, a, g, l, ro, r };
}

/** Adds up the attempts of deliveries that are read one by one. */
export class RollupTally {
  readonly #sums = new Map<string, Sum>();

  constructor(private readonly query: RollupQuery) {}

  /** @param by -1 for what was counted before, and is taken back. */
  add(delivery: WalkedDelivery, log: string, by: 1 | -1 = 1): void {
    const steps = stepsOf(log);
    let last: Pick<Attempt, 'startedAt' | 'outcome'> | undefined;
    const attempts = steps.map(({ line }) => line).filter(isAttempt);
    const firstTrigger = attempts.find(({ n }) => n === 1)?.g;
    for (const attempt of attempts) {
      const { n: number, t: startedAt, d: durationMs, o: outcome = 'delivered', l, ro: round } = attempt;
      const sum = this.#sumOf(delivery, startedAt, outcome);
      const counted = {
        number,
        startedAt,
        durationMs,
        outcome,
        isOfSchedule: isOfSchedule(round, firstTrigger),
      };
      if (sum) countAttempt(sum, counted, delivery.createdAt, by);
      if (isDeciding({ isLate: l === 1, outcome })) last = { startedAt, outcome };
    }
    if (steps.at(-1)?.summary.status !== 'exhausted' || !last) return;
    const sum = this.#sumOf(delivery, last.startedAt, last.outcome);
    if (sum) sum.exhausted += by;
  }

  /** By their start, and then their value. */
  rollups(): readonly Rollup[] {
    return [...this.#sums.values()].toSorted((a, b) => a.start - b.start || (a.value < b.value ? -1 : 1));
  }

  #sumOf({ endpointId, type }: WalkedDelivery, at: number, outcome: string): Sum | undefined {
    const { grain, dimension, value: only, since, until } = this.query;
    if (at < since || until <= at) return undefined;
    const start = Math.floor(at / GRAIN_MS[grain]) * GRAIN_MS[grain];
    const value = { webhook_id: endpointId, event_type: type, outcome }[dimension];
    if (only !== undefined && only !== value) return undefined;
    const name = `${start} ${value}`;
    const known = this.#sums.get(name);
    if (known) return known;
    const sum = { start, value, ...newCounts() };
    this.#sums.set(name, sum);
    return sum;
  }
}

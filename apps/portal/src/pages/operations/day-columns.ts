import { plural, t } from '@lingui/core/macro';
import { type Columns, fromBegin, type Series } from '../overview/columns';
import type { HeavyAccount, Measure, Sample } from './use-last-day';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// As many colours as people can distinguish; one of them is for all others.
const MOST_SERIES = 5;
const OTHER_COLOR = 6;

/** A time within the last day. Milliseconds since the Unix epoch. */
export interface DayRange {
  readonly since: number;
  readonly until: number;
}

/** The part of the last day that an address asks for, or all of it. */
export function dayRangeOf(search: URLSearchParams, now: number): DayRange {
  const [since = Number.NaN, until = Number.NaN] = ['since', 'until'].map((name) =>
    Date.parse(search.get(name) ?? ''),
  );
  const day = { since: now - DAY_MS, until: now };
  if (!(since < until && until > day.since && since < now)) return day;
  return { since: Math.max(since, day.since), until: Math.min(until, now) };
}

/** The result of `read` for each sample; null if there is no sample. */
export function sampleColumns(
  samples: readonly Sample[],
  lengthMs: number,
  range: DayRange,
  read: (samples: ReadonlyMap<number, Sample>, starts: readonly number[]) => readonly Series[],
): Columns {
  const starts = startsIn(range, lengthMs);
  // The last one is of now, and counts more than the one that was taken in the same five minutes.
  const at = new Map(
    samples.map((sample) => [Math.floor(Date.parse(sample.sampled_at) / lengthMs) * lengthMs, sample]),
  );
  return fromBegin({ starts, lengthMs, series: read(at, starts) }, 'lines');
}

function startsIn({ since, until }: DayRange, lengthMs: number): number[] {
  const first = Math.floor(since / lengthMs) * lengthMs;
  const count = Math.max(1, Math.ceil((until - first) / lengthMs));
  return Array.from({ length: count }, (_, i) => first + i * lengthMs);
}

type Read = (sample: Sample) => number;

/** One line for each of these. */
export function linesOf(lines: readonly (readonly [label: string, read: Read, isDashed?: boolean])[]) {
  return (samples: ReadonlyMap<number, Sample>, starts: readonly number[]): readonly Series[] =>
    lines.map(([label, read, isDashed = false], i) => ({
      label,
      color: i + 1,
      isDashed,
      values: starts.map((start) => {
        const sample = samples.get(start);
        return sample ? read(sample) : null;
      }),
    }));
}

type ShardSample = Sample['shards'][number];
export const sumOf =
  (name: keyof ShardSample): Read =>
  ({ shards }) =>
    shards.reduce((sum, shard) => sum + shard[name], 0);

/** One line for each shard; where there are many, the first ones and the sum of the others. */
export function shardLines(samples: readonly Sample[], name: keyof ShardSample) {
  const count = Math.max(0, ...samples.map(({ shards }) => shards.length));
  const alone = count > MOST_SERIES + 1 ? MOST_SERIES : count;
  const lines = Array.from(
    { length: alone },
    (_, i) => [t`Shard ${i}`, ({ shards }: Sample) => shards[i]?.[name] ?? 0] as const,
  );
  const others: Read = ({ shards }) => shards.slice(alone).reduce((sum, shard) => sum + shard[name], 0);
  const last = count - 1;
  return linesOf(alone < count ? [...lines, [t`Shards ${alone} to ${last}`, others]] : lines);
}

/** The use by account and hour; the accounts with most have a series each. */
export function accountColumns(accounts: readonly HeavyAccount[], by: Measure, range: DayRange): Columns {
  const starts = startsIn(range, HOUR_MS);
  const valuesOf = (some: readonly HeavyAccount[]) => {
    const sums = new Map<number, number>();
    for (const { starts_at: start, ...load } of some.flatMap(({ hours }) => hours)) {
      const at = Date.parse(start);
      sums.set(at, (sums.get(at) ?? 0) + load[by]);
    }
    return starts.map((start) => sums.get(start) ?? 0);
  };
  const [alone, others] = [accounts.slice(0, MOST_SERIES), accounts.slice(MOST_SERIES)];
  const series = alone.map((account, i) => ({
    label: account.account_id,
    color: i + 1,
    values: valuesOf([account]),
  }));
  if (others.length === 0) return fromBegin({ starts, lengthMs: HOUR_MS, series }, 'bars');
  const label = plural(others.length, { one: 'The next #', other: 'The next #' });
  const all = [...series, { label, color: OTHER_COLOR, values: valuesOf(others) }];
  return fromBegin({ starts, lengthMs: HOUR_MS, series: all }, 'bars');
}

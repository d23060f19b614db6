import { t } from '@lingui/core/macro';
import type { DeliveryMetrics, EventMetrics, MetricsPoint } from '../../api/metrics-queries';
import { FAILED } from '../deliveries/filters-in-url';
import { outcomes } from '../deliveries/words';

/** Values over time, one for each start; null where nothing was measured. */
export interface Series {
  readonly label: string;
  /** Of the page's colours, from 1 on. */
  readonly color: number;
  readonly values: readonly (number | null)[];
  /** Drawn with gaps: distinct without colour. */
  readonly isDashed?: boolean;
  /** It leads elsewhere than its time does: to deliveries that are narrowed down by these, or to what is called so. */
  readonly leads?: Readonly<Record<string, string>>;
}

export interface Columns {
  /** The beginning of each interval. Milliseconds since the Unix epoch. */
  readonly starts: readonly number[];
  readonly lengthMs: number;
  readonly series: readonly Series[];
  /** The first time with anything, of a chart that begins later than it was asked to. Milliseconds since the Unix epoch. */
  readonly begin?: number | undefined;
}

/** Whether a value says nothing. A line at 0 says something: a success rate of 0 %, say. */
export const isNothing = {
  bars: (value: number | null | undefined) => !value,
  lines: (value: number | null | undefined) => value === null || value === undefined,
} as const;

const MOST_KINDS = 6;
// Those of each stay the same, whatever else there is.
const COLORS: Readonly<Partial<Record<string, number>>> = {
  delivered: 1,
  http_5xx: 2,
  http_4xx: 3,
  response_timeout: 4,
  connect_refused: 5,
};
const OTHER_COLOR = 6;

/** All starts of a time that was counted, those without anything too. */
export function startsOf(counted: Pick<DeliveryMetrics, 'since' | 'until'>, lengthMs: number): number[] {
  const [since, until] = [Date.parse(counted.since), Date.parse(counted.until)];
  const first = Math.floor(since / lengthMs) * lengthMs;
  return Array.from(
    { length: Math.max(0, Math.ceil((until - first) / lengthMs)) },
    (_, i) => first + i * lengthMs,
  );
}

/** The number of attempts by response; rare responses are one series. */
export function responseSeries(metrics: DeliveryMetrics, starts: readonly number[]): readonly Series[] {
  const totals = new Map<string, number>();
  for (const { group, attempts } of metrics.data) {
    const outcome = group.outcome ?? '';
    totals.set(outcome, (totals.get(outcome) ?? 0) + attempts);
  }
  const failed = [...totals].filter(([outcome]) => outcome !== 'delivered').toSorted(([, a], [, b]) => b - a);
  const named = failed.slice(0, MOST_KINDS - 2).map(([outcome]) => outcome);
  const isNamed = (outcome: string | undefined) => outcome === 'delivered' || named.includes(outcome ?? '');
  const colors = new Set(named.flatMap((outcome) => COLORS[outcome] ?? []));
  const free = [5, 4, 3, 2].filter((color) => !colors.has(color));
  const valuesOf = (isOne: (outcome: string | undefined) => boolean) =>
    sumAt(
      starts,
      metrics.data.filter(({ group }) => isOne(group.outcome)),
    );
  const series = ['delivered', ...named].map((outcome) => ({
    label: outcomes[outcome as keyof typeof outcomes] ?? outcome,
    color: COLORS[outcome] ?? free.pop() ?? OTHER_COLOR,
    values: valuesOf((one) => one === outcome),
    leads: { attempt: outcome },
  }));
  if (failed.length <= named.length) return series;
  const others = failed.slice(named.length).map(([outcome]) => outcome);
  const values = valuesOf((one) => !isNamed(one));
  return [...series, { label: t`Other`, color: OTHER_COLOR, values, leads: { attempt: others.join(',') } }];
}

/** For what is counted by something else than responses. */
export function deliveredSeries(metrics: DeliveryMetrics, starts: readonly number[]): readonly Series[] {
  const at = byStart(metrics.data);
  return [
    {
      label: t({ message: 'Delivered', context: 'attempts' }),
      color: 1,
      values: starts.map((start) => at.get(start)?.delivered ?? 0),
      leads: { attempt: 'delivered' },
    },
    {
      label: t({ message: 'Failed', context: 'attempts' }),
      color: 2,
      values: starts.map((start) => at.get(start)?.failed ?? 0),
      leads: { attempt: FAILED },
    },
  ];
}

export function rateSeries(metrics: DeliveryMetrics, starts: readonly number[]): readonly Series[] {
  const at = byStart(metrics.data);
  const rateOf = (point: MetricsPoint | undefined) => (point ? point.delivered / point.attempts : null);
  return [{ label: t`Success`, color: 1, values: starts.map((start) => rateOf(at.get(start))) }];
}

export function timeSeries(metrics: DeliveryMetrics, starts: readonly number[]): readonly Series[] {
  const at = byStart(metrics.data);
  const read = (name: 'p50_ms' | 'p95_ms' | 'lag_p50_ms' | 'lag_p95_ms') =>
    starts.map((start) => at.get(start)?.[name] ?? null);
  return [
    { label: t`Response, p50`, color: 1, values: read('p50_ms') },
    { label: t`Response, p95`, color: 1, values: read('p95_ms'), isDashed: true },
    { label: t`Delivery, p50`, color: 2, values: read('lag_p50_ms') },
    { label: t`Delivery, p95`, color: 2, values: read('lag_p95_ms'), isDashed: true },
  ];
}

export function eventSeries(metrics: EventMetrics, starts: readonly number[]): readonly Series[] {
  const at = new Map(metrics.data.map(({ starts_at: start, events }) => [Date.parse(start), events]));
  return [{ label: t`Events`, color: 1, values: starts.map((start) => at.get(start) ?? 0) }];
}

function byStart(points: readonly MetricsPoint[]): ReadonlyMap<number, MetricsPoint> {
  return new Map(points.map((point) => [Date.parse(point.starts_at), point]));
}

function sumAt(starts: readonly number[], points: readonly MetricsPoint[]): number[] {
  const sums = new Map<number, number>();
  for (const { starts_at: start, attempts } of points) {
    const at = Date.parse(start);
    sums.set(at, (sums.get(at) ?? 0) + attempts);
  }
  return starts.map((start) => sums.get(start) ?? 0);
}

const LEAST_INTERVALS = 4;

/**
 * Without the times before the first one with anything in it, but for one: a chart says nothing by an empty half.
 *
 * @param isCut earlier times were left out already.
 */
export function fromBegin(columns: Columns, kind: keyof typeof isNothing, isCut = false): Columns {
  const { starts, series } = columns;
  const first = starts.findIndex((_start, i) => series.some(({ values }) => !isNothing[kind](values[i])));
  const from = Math.min(first - 1, starts.length - LEAST_INTERVALS);
  const isLate = from >= starts.length / 4;
  if (first < 0 || (!isLate && !isCut)) return columns;
  const begin = starts[first];
  if (!isLate) return { ...columns, begin };
  const rest = series.map((one) => ({ ...one, values: one.values.slice(from) }));
  return { ...columns, starts: starts.slice(from), series: rest, begin };
}

/** One upon the other, the first at the bottom: of each, where it ends. */
export function stacked(series: readonly Series[]): readonly (readonly number[])[] {
  const sums: number[] = [];
  return series.map(({ values }) =>
    values.map((value, i) => {
      sums[i] = (sums[i] ?? 0) + (value ?? 0);
      return sums[i] ?? 0;
    }),
  );
}

/** The series of a stack at a height; undefined: above all of them. */
export function seriesAt(series: readonly Series[], index: number, height: number): Series | undefined {
  const tops = stacked(series);
  return series.find((_one, i) => height <= (tops[i]?.[index] ?? 0));
}

/** RFC 4180, with times in UTC. What a spreadsheet would take as a formula comes from nobody: labels are ours. */
export function csvOf({ starts, series }: Columns): string {
  const rows = starts.map((start, i) => [
    new Date(start).toISOString(),
    ...series.map(({ values }) => values[i] ?? ''),
  ]);
  return [['start', ...series.map(({ label }) => `"${label.replaceAll('"', '""')}"`)], ...rows]
    .map((row) => `${row.join(',')}\r\n`)
    .join('');
}

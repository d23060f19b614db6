import { t } from '@lingui/core/macro';
import type { Interval } from '../../api/metrics-queries';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const INTERVAL_MS: Readonly<Record<Interval, number>> = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '1h': HOUR_MS,
  '1d': DAY_MS,
};

/** The ranges to choose from, with their lengths. */
export const SPANS = [
  ['1h', t`1 h`, HOUR_MS],
  ['24h', t`24 h`, DAY_MS],
  ['7d', t`7 d`, 7 * DAY_MS],
  ['30d', t`30 d`, 30 * DAY_MS],
] as const;
export type Span = (typeof SPANS)[number][0];

const USUAL: Span = '24h';
// Bars of a few pixels each, and few enough points for all kinds of responses.
const MOST_INTERVALS = 170;

/** The time range of a page. */
export interface Period {
  /** undefined: it was drawn, or typed. */
  readonly span: Span | undefined;
  readonly interval: Interval;
  /** Milliseconds since the Unix epoch; a multiple of the interval. */
  readonly since: number;
  /** undefined: it goes on. */
  readonly until: number | undefined;
  /** After all that has happened in it yet. */
  readonly end: number;
}

/** The period that an address asks for. What it says wrongly is as if it said nothing. */
export function periodOf(search: URLSearchParams, now: number): Period {
  const [since, until] = ['since', 'until'].map((name) => Date.parse(search.get(name) ?? ''));
  if (since !== undefined && until !== undefined && since < until && since < now) {
    const end = Math.min(until, now);
    const interval = intervalFor(end - since);
    const lengthMs = INTERVAL_MS[interval];
    const start = Math.floor(since / lengthMs) * lengthMs;
    const whole = Math.ceil(until / lengthMs) * lengthMs;
    return { span: undefined, interval, since: start, until: whole, end: whole };
  }
  const [span, , spanMs] = SPANS.find(([name]) => name === search.get('range')) ?? spanOf(USUAL);
  const interval = intervalFor(spanMs);
  // As far as the sums of all of it are counted, which are of whole hours and days.
  const stepMs = spanMs > 2 * DAY_MS ? DAY_MS : Math.max(INTERVAL_MS[interval], 5 * MINUTE_MS);
  const start = Math.floor((now - spanMs) / stepMs) * stepMs;
  // The page takes what is newer along for a minute until it counts from another time.
  return { span, interval, since: start, until: undefined, end: Math.ceil(now / MINUTE_MS + 1) * MINUTE_MS };
}

function spanOf(name: Span): (typeof SPANS)[number] {
  return SPANS.find(([each]) => each === name) ?? SPANS[1];
}

/** The shortest that makes few enough of it. */
export function intervalFor(lengthMs: number): Interval {
  const all = Object.entries(INTERVAL_MS) as [Interval, number][];
  return all.find(([, each]) => lengthMs / each <= MOST_INTERVALS)?.[0] ?? '1d';
}

/** As the API is asked for it. */
export function timesOf({ since, until }: Pick<Period, 'since' | 'until'>) {
  return {
    since: new Date(since).toISOString(),
    ...(until !== undefined && { until: new Date(until).toISOString() }),
  };
}

/** The address of the list of deliveries with attempts that began in a time range: as many as a chart counts. */
export function attemptsHref(
  since: number,
  until: number,
  filters: Readonly<Record<string, string>> = {},
): string {
  const range = {
    attempted_since: new Date(since).toISOString(),
    attempted_until: new Date(until).toISOString(),
  };
  return `/deliveries?${new URLSearchParams({ ...filters, ...range })}`;
}

const LEAST_SHOWN_MS = 15 * MINUTE_MS;

/** What charts show of a period in which there is nothing before `begin`: in finer intervals, where that is more than half of it. */
export function periodFrom(period: Period, begin: number | undefined): Period {
  const { since, end } = period;
  if (begin === undefined || begin < (since + end) / 2) return period;
  const from = Math.max(since, Math.min(begin, end - LEAST_SHOWN_MS));
  const interval = intervalFor(end - from);
  const lengthMs = INTERVAL_MS[interval];
  return { ...period, interval, since: Math.floor(from / lengthMs) * lengthMs };
}

import { useMemo } from 'react';
import {
  type DeliveryMetrics,
  useDeliveryMetrics,
  useEventMetrics,
  useStandings,
} from '../../api/metrics-queries';
import {
  type Columns,
  deliveredSeries,
  eventSeries,
  fromBegin,
  rateSeries,
  responseSeries,
  type Series,
  startsOf,
  timeSeries,
} from './columns';
import { INTERVAL_MS, type Period, periodFrom, timesOf } from './period';

/** What the page is about; empty: the account. */
export interface Scope {
  readonly webhook_id?: string;
  readonly event_type?: string;
}

const DAY_MS = 86_400_000;

/** All that the overview counts in a period. */
export function useOverview({ interval: wanted, ...period }: Period, scope: Scope) {
  const times = timesOf(period);
  const isWhole = Object.keys(scope).length === 0;
  const total = useDeliveryMetrics({ interval: 'total', ...times, ...scope });
  // Without a history there are no days of deliveries.
  const interval = wanted === '1d' && total.data?.source === 'recent' ? '1h' : wanted;
  const isKnown = wanted !== '1d' || total.data !== undefined;
  // Counts of one webhook or type are not kept by response.
  const groups = { ...scope, ...(isWhole && ({ group_by: 'outcome' } as const)) };
  const first = useDeliveryMetrics({ interval, ...times, ...groups }, isKnown);
  const firstEvents = useEventMetrics({ interval: wanted, ...times }, { isWanted: isWhole });
  // Where little of the period has anything, the charts show that part, in finer intervals.
  const shown = periodFrom({ interval, ...period }, beginOf(first.data, firstEvents.data));
  const isCut = shown.since > period.since;
  const drawn = { interval: shown.interval, ...timesOf(shown) };
  const byResponse = useDeliveryMetrics({ ...drawn, ...groups }, isKnown);
  const course = useDeliveryMetrics({ ...drawn, ...scope }, isKnown);
  // Days of events are there also without a history.
  const events = useEventMetrics(isCut ? drawn : { interval: wanted, ...times }, { isWanted: isWhole });
  const byOutcome = useDeliveryMetrics({ interval: 'total', group_by: 'outcome', ...times });
  const byWebhook = useDeliveryMetrics({ interval: 'total', group_by: 'webhook_id', ...times });
  const standings = useStandings();
  const before = useDeliveryMetrics(
    { interval: 'total', ...timesOf(periodBefore(period)), ...scope },
    hasBefore(total.data, period),
  );
  const all = [total, first, course, byResponse, byOutcome, byWebhook, standings];
  const read = isWhole ? [...all, firstEvents, events] : all;
  // The same periods for all of them, and not one that is about to be a finer one.
  const isReady = first.data !== undefined && (!isWhole || firstEvents.data !== undefined);
  const columnsOf = { isReady, isCut };
  const settled = <Metrics extends Pick<DeliveryMetrics, 'interval'>>({
    data,
    isPlaceholderData,
  }: Read<Metrics>) => (isCut && isPlaceholderData && data?.interval !== shown.interval ? undefined : data);

  return {
    total: total.data,
    before: hasBefore(total.data, period) ? before.data : undefined,
    events: isWhole ? (firstEvents.data ?? ('loading' as const)) : undefined,
    error: read.find(({ error }) => error)?.error,
    retry: () => read.forEach(({ refetch }) => void refetch()),
    responses: useColumns(settled(byResponse), isWhole ? responseSeries : deliveredSeries, 'bars', columnsOf),
    rate: useColumns(settled(course), rateSeries, 'lines', columnsOf),
    times: useColumns(settled(course), timeSeries, 'lines', columnsOf),
    accepted: useColumns(settled(events), eventSeries, 'bars', columnsOf),
    byOutcome: byOutcome.data,
    byWebhook: byWebhook.data,
    standings: standings.data,
  };
}

interface Read<Metrics> {
  readonly data: Metrics | undefined;
  /** Of what was asked for before. */
  readonly isPlaceholderData: boolean;
}

interface Started {
  readonly starts_at: string;
}

/** When the first interval with anything begins. */
function beginOf(...counted: readonly ({ readonly data: readonly Started[] } | undefined)[]) {
  const starts = counted.flatMap((metrics) => metrics?.data[0]?.starts_at ?? []);
  return starts.length === 0 ? undefined : Math.min(...starts.map((start) => Date.parse(start)));
}

/** As long as a period is, and just before it. */
function periodBefore({ since, end }: Pick<Period, 'since' | 'end'>) {
  return { since: 2 * since - end, until: since };
}

/** Without a history only a day is counted. */
export function hasBefore(
  total: DeliveryMetrics | undefined,
  period: Pick<Period, 'since' | 'end'>,
): boolean {
  if (!total) return false;
  return total.source === 'history' || periodBefore(period).since > Date.parse(total.until) - DAY_MS;
}

interface ColumnsOptions {
  readonly isReady: boolean;
  /** The chart begins later than it was asked to. */
  readonly isCut: boolean;
}

/** The same object while nothing has changed: the chart is not drawn again. */
function useColumns<Metrics extends Pick<DeliveryMetrics, 'interval' | 'since' | 'until'>>(
  metrics: Metrics | undefined,
  read: (metrics: Metrics, starts: readonly number[]) => readonly Series[],
  kind: 'bars' | 'lines',
  { isReady, isCut }: ColumnsOptions,
): Columns | undefined {
  return useMemo(() => {
    if (!isReady || !metrics || metrics.interval === 'total') return undefined;
    const lengthMs = INTERVAL_MS[metrics.interval];
    const starts = startsOf(metrics, lengthMs);
    return fromBegin({ starts, lengthMs, series: read(metrics, starts) }, kind, isCut);
  }, [metrics, read, kind, isReady, isCut]);
}

import { useMemo, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import {
  type DeliveryMetrics,
  type MetricsPoint,
  type Standings,
  useDeliveryMetrics,
  useEventMetrics,
  useStandings,
} from '../../api/metrics-queries';
import { type Column, DataTable } from '../../components/data-table';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { outcomes } from '../deliveries/words';
import { PageHeader } from '../page-header';
import { formatCount, formatMs, formatRate } from '../webhooks/health-figures';
import { ChartFigure } from './chart-figure';
import {
  type Columns,
  deliveredSeries,
  eventSeries,
  rateSeries,
  responseSeries,
  type Series,
  startsOf,
  timeSeries,
} from './columns';
import { FirstRun } from './first-run';
import styles from './overview.module.css';
import { deliveriesHref, INTERVAL_MS, type Period, periodOf, timesOf } from './period';
import { PeriodBar } from './period-bar';
import { StandingsSections } from './standings';
import { useFresh } from './use-fresh';

const MOST_LISTED = 8;
const RECENT =
  'This service keeps the last 24 hours. With a history in PostgreSQL it keeps weeks and months.';
const HINT = 'Drag across a chart to zoom in, click on it to see the deliveries.';

/** Charts of the account, of one webhook or of one event type. Time range and subject are in the address. */
export function OverviewPage() {
  const now = useFresh();
  const [search, setSearch] = useSearchParams();
  const [, navigate] = useLocation();
  const names = useWebhookNames();
  const period = periodOf(search, now);
  const scope = scopeOf(search);
  const filters = filtersOf(scope);
  const read = useOverview(period, scope);

  const change = (changed: Readonly<Record<string, string | undefined>>) =>
    setSearch((former) => {
      const next = new URLSearchParams(former);
      for (const [name, value] of Object.entries(changed)) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  const draw = (since: number, until: number) => change({ range: undefined, ...timesOf({ since, until }) });
  const hrefOf = (since: number, until: number, series?: Series) =>
    deliveriesHref(since, until, { ...filters, ...series?.leads });
  const chart = { hrefOf, onRange: draw, onOpen: (href: string) => navigate(href) };
  const isWhole = Object.keys(scope).length === 0;
  const { total, responses, course, events } = read;
  const firstRun = useFirstRun(read.standings);
  const isFirstRun = isWhole && firstRun.webhooks !== undefined;
  const beginning = (
    <>
      <PageHeader title="Overview" state={!isWhole && <ScopeName {...scope} names={names} />} />
      {isFirstRun && <FirstRun webhooks={firstRun.webhooks ?? []} onDone={firstRun.hide} />}
    </>
  );
  // Charts of nothing would hide the steps, which stay the same element when there is something.
  if (isFirstRun && total.data?.data.length === 0) return <>{beginning}</>;

  return (
    <>
      {beginning}
      <PeriodBar period={period} now={now} onChange={change} />
      {/* There in any case: nothing may move when it is known which. */}
      <p className={styles['note']}>
        {HINT}
        {total.data?.source === 'recent' && <span> {RECENT}</span>}
      </p>
      {read.error && <Problem error={read.error} onRetry={read.retry} />}
      <Cards total={total.data} events={isWhole ? (events.data?.data ?? []) : undefined} />
      <div className={styles['charts']}>
        <div className={styles['wide']}>
          <ChartFigure
            title="Attempts by response"
            columns={responses}
            kind="bars"
            format={formatCount}
            {...chart}
          />
        </div>
        {isWhole && (
          <ChartFigure
            title="Events accepted"
            columns={read.accepted}
            kind="bars"
            format={formatCount}
            {...chart}
            hrefOf={undefined}
          />
        )}
        <ChartFigure
          title="Success rate"
          columns={course?.rate}
          kind="lines"
          format={formatRate}
          most={1}
          {...chart}
        />
        <div className={isWhole ? styles['wide'] : undefined}>
          <ChartFigure
            title="Time to the response, and lag"
            columns={course?.times}
            kind="lines"
            format={formatMs}
            isCount
            {...chart}
          />
        </div>
      </div>
      {isWhole && (
        <>
          <div className={styles['lists']}>
            <Worst metrics={read.byWebhook} names={names} period={period} />
            <Responses metrics={read.byOutcome} period={period} />
          </div>
          <StandingsSections standings={read.standings} names={names} />
        </>
      )}
    </>
  );
}

interface FirstRunState {
  /** `undefined`: the first steps are not shown. */
  readonly webhooks: Standings['webhooks'] | undefined;
  readonly hide: () => void;
}

/** Shown while no webhook was ever tried, and then until it is hidden: what it shows last is the first success. */
function useFirstRun(standings: Standings | undefined): FirstRunState {
  const [state, setState] = useState<'unknown' | 'shown' | 'hidden'>('unknown');
  const isNew = standings?.webhooks.every(
    ({ health }) => health.last_success_at === null && health.last_failure_at === null,
  );
  if (state === 'unknown' && isNew !== undefined) setState(isNew ? 'shown' : 'hidden');
  return { webhooks: state === 'shown' ? standings?.webhooks : undefined, hide: () => setState('hidden') };
}

interface Scope {
  readonly webhook_id?: string;
  readonly event_type?: string;
}

function scopeOf(search: URLSearchParams): Scope {
  const [webhook, type] = [search.get('webhook'), search.get('type')];
  if (webhook) return { webhook_id: webhook };
  return type ? { event_type: type } : {};
}

function filtersOf({ webhook_id: webhook, event_type: type }: Scope): Readonly<Record<string, string>> {
  return { ...(webhook !== undefined && { webhook }), ...(type !== undefined && { type }) };
}

function useOverview({ interval: wanted, ...period }: Period, scope: Scope) {
  const times = timesOf(period);
  const isWhole = Object.keys(scope).length === 0;
  const total = useDeliveryMetrics({ interval: 'total', ...times, ...scope });
  // Without a history there are no days of deliveries.
  const interval = wanted === '1d' && total.data?.source === 'recent' ? '1h' : wanted;
  const isKnown = wanted !== '1d' || total.data !== undefined;
  const course = useDeliveryMetrics({ interval, ...times, ...scope }, isKnown);
  // Counts of one webhook or type are not kept by response.
  const byResponse = useDeliveryMetrics(
    { interval, ...times, ...scope, ...(isWhole && { group_by: 'outcome' }) },
    isKnown,
  );
  const byOutcome = useDeliveryMetrics({ interval: 'total', group_by: 'outcome', ...times });
  const byWebhook = useDeliveryMetrics({ interval: 'total', group_by: 'webhook_id', ...times });
  const events = useEventMetrics({ interval: wanted, ...times }, { isWanted: isWhole });
  const standings = useStandings();
  const all = [total, course, byResponse, byOutcome, byWebhook, standings, ...(isWhole ? [events] : [])];

  return {
    total,
    events,
    error: all.find(({ error }) => error)?.error,
    retry: () => all.forEach(({ refetch }) => void refetch()),
    responses: useColumns(byResponse.data, isWhole ? responseSeries : deliveredSeries),
    course: {
      rate: useColumns(course.data, rateSeries),
      times: useColumns(course.data, timeSeries),
    },
    accepted: useColumns(events.data, eventSeries),
    byOutcome: byOutcome.data,
    byWebhook: byWebhook.data,
    standings: standings.data,
  };
}

/** The same object while nothing has changed: the chart is not drawn again. */
function useColumns<Metrics extends Pick<DeliveryMetrics, 'interval' | 'since' | 'until'>>(
  metrics: Metrics | undefined,
  read: (metrics: Metrics, starts: readonly number[]) => readonly Series[],
): Columns | undefined {
  return useMemo(() => {
    if (!metrics || metrics.interval === 'total') return undefined;
    const lengthMs = INTERVAL_MS[metrics.interval];
    const starts = startsOf(metrics, lengthMs);
    return { starts, lengthMs, series: read(metrics, starts) };
  }, [metrics, read]);
}

function ScopeName({
  webhook_id: webhook,
  event_type: type,
  names,
}: Scope & { readonly names: ReadonlyMap<string, string> }) {
  return (
    <span>
      of{' '}
      {webhook === undefined ? (
        <Link href={`/event-types/${encodeURIComponent(type ?? '')}`}>{type ?? ''}</Link>
      ) : (
        <Link href={`/webhooks/${webhook}`}>{names.get(webhook) ?? webhook}</Link>
      )}{' '}
      (<Link href="/overview">all</Link>)
    </span>
  );
}

interface CardsProps {
  readonly total: DeliveryMetrics | undefined;
  /** Absent: they are not counted. */
  readonly events: readonly { readonly events: number }[] | undefined;
}

function Cards({ total, events }: CardsProps) {
  const point = total?.data[0];
  const attempts = point?.attempts ?? 0;
  const pair = (p50: number | null | undefined, p95: number | null | undefined) =>
    [formatMs(p50 ?? null), `p95 ${formatMs(p95 ?? null)}`] as const;
  const cards: readonly (readonly [name: string, value: string, detail?: string])[] = [
    ...(events
      ? [['Events accepted', formatCount(events.reduce((sum, one) => sum + one.events, 0))] as const]
      : []),
    ['Attempts', formatCount(attempts), `${formatCount(point?.retried ?? 0)} of them retries`],
    [
      'Success rate',
      formatRate(attempts === 0 ? null : (point?.delivered ?? 0) / attempts),
      `${formatCount(point?.failed ?? 0)} failed`,
    ],
    ['Exhausted', formatCount(point?.exhausted ?? 0), 'given up after the last retry'],
    ['Time to the response', ...pair(point?.p50_ms, point?.p95_ms)],
    ['Lag', ...pair(point?.lag_p50_ms, point?.lag_p95_ms)],
  ];
  return (
    <dl className={styles['cards']} aria-label="All of this time" aria-busy={!total}>
      {cards.map(([name, value, detail = '']) => (
        <div key={name} className={styles['card']}>
          <dt>{name}</dt>
          <dd className={styles['value']}>{total ? value : ' '}</dd>
          <dd className={styles['detail']}>{total ? detail : ' '}</dd>
        </div>
      ))}
    </dl>
  );
}

interface WorstProps {
  readonly metrics: DeliveryMetrics | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly period: Period;
}

/** The webhooks at which most attempts have failed. */
function Worst({ metrics, names, period }: WorstProps) {
  const [, navigate] = useLocation();
  const rows = metrics?.data
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, MOST_LISTED);
  const columns = useMemo(() => worstColumns(names), [names]);
  const open = ({ group: { webhook_id: webhook = '' } }: MetricsPoint) =>
    navigate(deliveriesHref(period.since, period.end, { webhook }));
  return (
    <Section title="Webhooks that fail most">
      {rows?.length === 0 ? (
        <p className={styles['note']}>No attempt has failed.</p>
      ) : (
        <DataTable
          label="Webhooks that fail most"
          columns={columns}
          rows={rows}
          rowId={({ group }) => group.webhook_id ?? ''}
          onOpen={open}
        />
      )}
    </Section>
  );
}

const worstColumns = (names: ReadonlyMap<string, string>): readonly Column<MetricsPoint>[] => [
  {
    id: 'webhook',
    header: 'Webhook',
    cell: ({ group: { webhook_id: id = '' } }) => (
      <Link className={styles['name'] ?? ''} href={`/overview?webhook=${id}`}>
        {names.get(id) ?? id}
      </Link>
    ),
  },
  { id: 'failed', header: 'Failed', width: '96px', cell: ({ failed }) => formatCount(failed) },
  {
    id: 'attempts',
    header: 'Attempts',
    width: '96px',
    from: 'medium',
    cell: ({ attempts }) => formatCount(attempts),
  },
  {
    id: 'rate',
    header: 'Success',
    width: '88px',
    cell: ({ delivered, attempts }) => formatRate(delivered / attempts),
  },
  { id: 'p95', header: 'p95', width: '80px', from: 'wide', cell: ({ p95_ms: ms }) => formatMs(ms) },
];

interface ResponsesProps {
  readonly metrics: DeliveryMetrics | undefined;
  readonly period: Period;
}

/** The responses to attempts, the most frequent first. */
function Responses({ metrics, period }: ResponsesProps) {
  const rows = metrics?.data.toSorted((a, b) => b.attempts - a.attempts).slice(0, MOST_LISTED) ?? [];
  const all = rows.reduce((sum, { attempts }) => sum + attempts, 0);
  return (
    <Section title="Most frequent responses">
      {metrics && rows.length === 0 && <p className={styles['note']}>Nothing was sent.</p>}
      <ul className={styles['responses']}>
        {rows.map(({ group: { outcome = 'delivered' }, attempts }) => (
          <li key={outcome}>
            <Link href={deliveriesHref(period.since, period.end, { outcome })}>{outcomes[outcome]}</Link>
            <span className={styles['number']}>{formatCount(attempts)}</span>
            <meter aria-label={outcomes[outcome]} max={all} value={attempts} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

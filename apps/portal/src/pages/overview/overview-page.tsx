import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import type { DeliveryMetrics, MetricsPoint, Standings } from '../../api/metrics-queries';
import { type Column, DataTable } from '../../components/data-table';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatCount, formatMs } from '../../language/formats';
import { FAILED } from '../deliveries/filters-in-url';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { outcomes } from '../deliveries/words';
import { PageHeader } from '../page-header';
import { formatRate } from '../webhooks/health-figures';
import { ChartFigure } from './chart-figure';
import type { Series } from './columns';
import { FirstRun } from './first-run';
import { Headline } from './headline';
import styles from './overview.module.css';
import { attemptsHref, periodOf, timesOf } from './period';
import { PeriodBar } from './period-bar';
import { StandingsSections } from './standings';
import { Tiles } from './tiles';
import { useFresh } from './use-fresh';
import { type Scope, useOverview } from './use-overview';

const MOST_LISTED = 8;
const RECENT = t`This service keeps the last 24 hours. With a history in PostgreSQL it keeps weeks and months.`;
const HINT = t`Drag across a chart to zoom in, click on it to see the deliveries.`;

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
    attemptsHref(since, until, { ...filters, ...series?.leads });
  const chart = { hrefOf, onRange: draw, onOpen: (href: string) => navigate(href) };
  const isWhole = Object.keys(scope).length === 0;
  const firstRun = useFirstRun(read.standings);
  const isFirstRun = isWhole && firstRun.webhooks !== undefined;
  const beginning = (
    <>
      <PageHeader title={t`Overview`} state={!isWhole && <ScopeName {...scope} names={names} />} />
      {isWhole && !isFirstRun && <Headline standings={read.standings} now={now} />}
      {isFirstRun && <FirstRun webhooks={firstRun.webhooks ?? []} onDone={firstRun.hide} />}
    </>
  );
  // Charts of nothing would hide the steps, which stay the same element when there is something.
  if (isFirstRun && read.total?.data.length === 0) return <>{beginning}</>;

  return (
    <>
      {beginning}
      <PeriodBar period={period} now={now} onChange={change} />
      {/* There in any case: nothing may move when it is known which. */}
      <p className={styles['note']}>
        {HINT}
        {read.total?.source === 'recent' && <span> {RECENT}</span>}
      </p>
      {read.error && <Problem error={read.error} onRetry={read.retry} />}
      <Tiles
        total={read.total}
        before={read.before}
        events={read.events}
        filters={filters}
        isOpen={period.until === undefined}
      />
      <div className={styles['charts']}>
        <div className={styles['wide']}>
          <ChartFigure
            title={t`Attempts by response`}
            columns={read.responses}
            kind="bars"
            format={formatCount}
            {...chart}
          />
        </div>
        {isWhole && (
          <ChartFigure
            title={t`Events accepted`}
            columns={read.accepted}
            kind="bars"
            format={formatCount}
            {...chart}
            hrefOf={undefined}
          />
        )}
        <ChartFigure
          title={t`Success rate`}
          columns={read.rate}
          kind="lines"
          format={formatRate}
          most={1}
          {...chart}
        />
        <div className={isWhole ? styles['wide'] : undefined}>
          <ChartFigure
            title={t`Time to the response, and lag`}
            columns={read.times}
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
            <Worst metrics={read.byWebhook} names={names} />
            <Responses metrics={read.byOutcome} />
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

function scopeOf(search: URLSearchParams): Scope {
  const [webhook, type] = [search.get('webhook'), search.get('type')];
  if (webhook) return { webhook_id: webhook };
  return type ? { event_type: type } : {};
}

function filtersOf({ webhook_id: webhook, event_type: type }: Scope): Readonly<Record<string, string>> {
  return { ...(webhook !== undefined && { webhook }), ...(type !== undefined && { type }) };
}

function ScopeName({
  webhook_id: webhook,
  event_type: type,
  names,
}: Scope & { readonly names: ReadonlyMap<string, string> }) {
  const name = webhook === undefined ? (type ?? '') : (names.get(webhook) ?? webhook);
  const href = webhook === undefined ? `/event-types/${encodeURIComponent(name)}` : `/webhooks/${webhook}`;
  return (
    <span>
      <Trans>
        of <Link href={href}>{name}</Link> (<Link href="/overview">all</Link>)
      </Trans>
    </span>
  );
}

interface WorstProps {
  readonly metrics: DeliveryMetrics | undefined;
  readonly names: ReadonlyMap<string, string>;
}

/** The webhooks at which most attempts have failed. */
function Worst({ metrics, names }: WorstProps) {
  const [, navigate] = useLocation();
  const rows = metrics?.data
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, MOST_LISTED);
  const columns = useMemo(() => worstColumns(names, metrics), [names, metrics]);
  const open = ({ group: { webhook_id: webhook = '' } }: MetricsPoint) =>
    navigate(countedHref(metrics, { webhook, attempt: FAILED }));
  return (
    <Section title={t`Webhooks that fail most`}>
      {rows?.length === 0 ? (
        <p className={styles['note']}>
          <Trans>No attempt has failed.</Trans>
        </p>
      ) : (
        <DataTable
          label={t`Webhooks that fail most`}
          columns={columns}
          rows={rows}
          rowId={({ group }) => group.webhook_id ?? ''}
          onOpen={open}
        />
      )}
    </Section>
  );
}

/** The address of the attempts that were counted. */
function countedHref(
  metrics: DeliveryMetrics | undefined,
  filters: Readonly<Record<string, string>>,
): string {
  const [since, until] = [metrics?.since, metrics?.until].map((time) => Date.parse(time ?? ''));
  return since && until ? attemptsHref(since, until, filters) : '/deliveries';
}

const worstColumns = (
  names: ReadonlyMap<string, string>,
  metrics: DeliveryMetrics | undefined,
): readonly Column<MetricsPoint>[] => [
  {
    id: 'webhook',
    header: t`Webhook`,
    cell: ({ group: { webhook_id: id = '' } }) => (
      <Link className={styles['name'] ?? ''} href={`/overview?webhook=${id}`}>
        {names.get(id) ?? id}
      </Link>
    ),
  },
  {
    id: 'failed',
    header: t`Failed`,
    width: '96px',
    cell: ({ group: { webhook_id: webhook = '' }, failed }) => (
      <Link href={countedHref(metrics, { webhook, attempt: FAILED })}>{formatCount(failed)}</Link>
    ),
  },
  {
    id: 'attempts',
    header: t`Attempts`,
    width: '96px',
    from: 'medium',
    cell: ({ group: { webhook_id: webhook = '' }, attempts }) => (
      <Link href={countedHref(metrics, { webhook })}>{formatCount(attempts)}</Link>
    ),
  },
  {
    id: 'rate',
    header: t`Success`,
    width: '88px',
    cell: ({ delivered, attempts }) => formatRate(delivered / attempts),
  },
  { id: 'p95', header: 'p95', width: '80px', from: 'wide', cell: ({ p95_ms: ms }) => formatMs(ms) },
];

interface ResponsesProps {
  readonly metrics: DeliveryMetrics | undefined;
}

/** The responses to attempts, the most frequent first. */
function Responses({ metrics }: ResponsesProps) {
  const rows = metrics?.data.toSorted((a, b) => b.attempts - a.attempts).slice(0, MOST_LISTED) ?? [];
  const all = rows.reduce((sum, { attempts }) => sum + attempts, 0);
  return (
    <Section title={t`Most frequent responses`}>
      {metrics && rows.length === 0 && (
        <p className={styles['note']}>
          <Trans>Nothing was sent.</Trans>
        </p>
      )}
      <ul className={styles['responses']}>
        {rows.map(({ group: { outcome = 'delivered' }, attempts }) => (
          <li key={outcome}>
            <Link href={countedHref(metrics, { attempt: outcome })}>{outcomes[outcome]}</Link>
            <span className={styles['number']}>{formatCount(attempts)}</span>
            <meter aria-label={outcomes[outcome]} max={all} value={attempts} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { DeliveryMetrics, Standings } from '../../api/metrics-queries';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatCount, formatMs } from '../../language/formats';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { outcomes } from '../deliveries/words';
import { PageHeader } from '../page-header';
import { formatRate } from '../webhooks/health-figures';
import { AttemptsTable, countedHref, MOST_LISTED } from './attempts-table';
import { ChartFigure } from './chart-figure';
import type { Series } from './columns';
import { FirstRun } from './first-run';
import { Headline } from './headline';
import styles from './overview.module.css';
import { attemptsHref } from './period';
import { PeriodBar } from './period-bar';
import { StandingsSections } from './standings';
import { Tiles } from './tiles';
import { useFresh } from './use-fresh';
import { type Scope, useOverview } from './use-overview';
import { usePeriod } from './use-period';

/** Charts of the account, of one webhook or of one event type. Time range and subject are in the address. */
export function OverviewPage() {
  const now = useFresh();
  const { search, period, change, draw } = usePeriod(now);
  const [, navigate] = useLocation();
  const names = useWebhookNames();
  const scope = scopeOf(search);
  const filters = filtersOf(scope);
  const read = useOverview(period, scope);

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
      <PeriodBar period={period} now={now} source={read.total?.source} onChange={change} />
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
            <AttemptsTable
              title={t`Webhooks that fail most`}
              metrics={read.byWebhook}
              by="webhook"
              order="failed"
              names={names}
            />
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

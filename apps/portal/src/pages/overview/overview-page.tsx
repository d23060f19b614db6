import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useEventTypes } from '../../api/event-type-queries';
import type { DeliveryMetrics, Standings } from '../../api/metrics-queries';
import { Section } from '../../components/section';
import { formatCount, formatMs } from '../../language/formats';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { outcomes } from '../deliveries/words';
import { PageHeader } from '../page-header';
import { formatRate } from '../webhooks/health-figures';
import { Activity, useActivity } from './activity';
import { AttemptsTable, countedHref, MOST_LISTED } from './attempts-table';
import { ChartFigure } from './chart-figure';
import { FirstRun } from './first-run';
import { Headline } from './headline';
import styles from './overview.module.css';
import { StandingsSections } from './standings';
import type { Scope } from './use-overview';

/** Charts of the account, of one webhook or of one event type. Time range and subject are in the address. */
export function OverviewPage() {
  const [search] = useSearchParams();
  const scope = scopeOf(search);
  const activity = useActivity(scope);
  const { now, read, chart } = activity;
  const names = useWebhookNames();
  const isWhole = Object.keys(scope).length === 0;
  const firstRun = useFirstRun(read.standings, isWhole ? read.total : undefined);
  const isFirstRun = isWhole && firstRun.webhooks !== undefined;
  // The first steps tell of a success themselves.
  const hasHeadline = isWhole && (!isFirstRun || read.standings?.webhooks.some(({ isFailing }) => isFailing));
  const beginning = (
    <>
      <PageHeader title={t`Overview`} state={!isWhole && <ScopeName {...scope} names={names} />} />
      {hasHeadline && <Headline standings={read.standings} now={now} />}
      {isFirstRun && <FirstRun webhooks={firstRun.webhooks ?? []} onDone={firstRun.hide} />}
    </>
  );
  // Charts of nothing would hide the steps, which stay the same element when there is something.
  if (isFirstRun && read.total?.data.length === 0) return <>{beginning}</>;

  return (
    <>
      {beginning}
      <Activity activity={activity}>
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
            title={t`Time to the response, and to delivery`}
            columns={read.times}
            kind="lines"
            format={formatMs}
            steps="durations"
            {...chart}
          />
        </div>
      </Activity>
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

/**
 * Shown where nothing was ever sent, and then until it is hidden: what it shows last is the first success. Decided once both are
 * known, and the types of the first step: the steps come as a whole in the place of charts of nothing. Charts that come later stand
 * below them, and would move with them.
 */
function useFirstRun(standings: Standings | undefined, total: DeliveryMetrics | undefined): FirstRunState {
  const [state, setState] = useState<'unknown' | 'shown' | 'hidden'>('unknown');
  const isUntried = standings?.webhooks.every(
    ({ health }) => health.last_success_at === null && health.last_failure_at === null,
  );
  const isNew = total && isUntried !== undefined ? isUntried && total.data.length === 0 : undefined;
  const { isPending } = useEventTypes({ isWanted: state === 'shown' || isNew === true });
  if (state === 'unknown' && isNew === false) setState('hidden');
  if (state === 'unknown' && isNew === true && !isPending) setState('shown');
  return { webhooks: state === 'shown' ? standings?.webhooks : undefined, hide: () => setState('hidden') };
}

function scopeOf(search: URLSearchParams): Scope {
  const [webhook, type] = [search.get('webhook'), search.get('type')];
  if (webhook) return { webhook_id: webhook };
  return type ? { event_type: type } : {};
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

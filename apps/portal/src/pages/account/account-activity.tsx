import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { useDeliveryMetrics } from '../../api/metrics-queries';
import { Problem } from '../../components/problem';
import { formatCount, formatPercent } from '../../language/formats';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { AttemptsTable } from '../overview/attempts-table';
import { ChartFigure } from '../overview/chart-figure';
import type { Series } from '../overview/columns';
import { Headline, type Part } from '../overview/headline';
import styles from '../overview/overview.module.css';
import { attemptsHref, timesOf } from '../overview/period';
import { PeriodBar } from '../overview/period-bar';
import { Tiles } from '../overview/tiles';
import { useFresh } from '../overview/use-fresh';
import { useOverview } from '../overview/use-overview';
import { usePeriod } from '../overview/use-period';
import { AccountUsage, USAGE, type Usage, type useAccountUsage } from './account-usage';

/** The place of who has paused it. */
export const PAUSED = 'paused';

interface AccountActivityProps {
  readonly account: components['schemas']['Account'];
  readonly usage: ReturnType<typeof useAccountUsage>;
  /** Between what is wrong now and what was. */
  readonly children: ReactNode;
}

/** What is wrong in an account now, what it has sent, what it stores, and its busiest webhooks and types. */
export function AccountActivity({ account, usage, children }: AccountActivityProps) {
  const now = useFresh();
  const { period, change, draw } = usePeriod(now);
  const [, navigate] = useLocation();
  const names = useWebhookNames();
  const read = useOverview(period, {});
  const byType = useDeliveryMetrics({ interval: 'total', group_by: 'event_type', ...timesOf(period) });
  const hrefOf = (since: number, until: number, series?: Series) => attemptsHref(since, until, series?.leads);
  return (
    <>
      <Headline standings={read.standings} now={now} more={[...pauseOf(account), ...quotaOf(usage.data)]} />
      {children}
      <PeriodBar period={period} now={now} source={read.total?.source} onChange={change} />
      {read.error && <Problem error={read.error} onRetry={read.retry} />}
      <Tiles
        total={read.total}
        before={read.before}
        events={read.events}
        filters={{}}
        isOpen={period.until === undefined}
      />
      <div className={styles['charts']}>
        <ChartFigure
          title={t`Attempts by response`}
          columns={read.responses}
          kind="bars"
          format={formatCount}
          hrefOf={hrefOf}
          onRange={draw}
          onOpen={(href) => navigate(href)}
        />
      </div>
      {/* Before the lists, which are as long as what they have. */}
      <AccountUsage {...usage} />
      <div className={styles['lists']}>
        <AttemptsTable
          title={t`Busiest webhooks`}
          metrics={read.byWebhook}
          by="webhook"
          order="attempts"
          names={names}
        />
        <AttemptsTable
          title={t`Busiest event types`}
          metrics={byType.data}
          by="type"
          order="attempts"
          names={names}
        />
      </div>
    </>
  );
}

function pauseOf({ pause }: AccountActivityProps['account']): readonly Part[] {
  return pause ? [{ href: `#${PAUSED}`, text: t`Its deliveries are paused` }] : [];
}

// From here on the account is told, too.
const MUCH = 0.8;

function quotaOf(usage: Usage | undefined): readonly Part[] {
  if (!usage?.quota_bytes) return [];
  const share = usage.used_bytes / usage.quota_bytes;
  if (share < MUCH) return [];
  const used = formatPercent(share);
  return [{ href: `#${USAGE}`, text: t`${used} of the quota used` }];
}

import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { useDeliveryMetrics } from '../../api/metrics-queries';
import { formatPercent } from '../../language/formats';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { Activity, useActivity } from '../overview/activity';
import { AttemptsTable } from '../overview/attempts-table';
import { Headline, type Part } from '../overview/headline';
import styles from '../overview/overview.module.css';
import { timesOf } from '../overview/period';
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
  const activity = useActivity({});
  const { now, period, read } = activity;
  const names = useWebhookNames();
  const byType = useDeliveryMetrics({ interval: 'total', group_by: 'event_type', ...timesOf(period) });
  return (
    <>
      <Headline standings={read.standings} now={now} more={[...pauseOf(account), ...quotaOf(usage.data)]} />
      {children}
      <Activity activity={activity} />
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

import { t } from '@lingui/core/macro';
import type { Health, ListedWebhook } from '../../api/webhook-queries';
import type { Column } from '../../components/data-table';
import { Sparkline } from '../../components/sparkline';
import { Tip } from '../../components/tip';
import { formatCount, formatMs } from '../../language/formats';
import { placeOf } from '../deliveries/webhook-names';
import { formatRate, isLow, rateOf } from './health-figures';
import { LastFailure } from './last-failure';
import { WebhookState } from './webhook-state';
import styles from './webhooks-page.module.css';

export const webhookColumns: readonly Column<ListedWebhook>[] = [
  {
    id: 'url',
    header: t`Webhook`,
    cell: ({ uid, url, description }) => {
      // A long address has no room beside it.
      const [name, more] = [description, uid, placeOf({ url })].filter(Boolean);
      return (
        <>
          <Tip tip={url} isStop={false}>
            {name}
          </Tip>
          {more !== undefined && <span className={styles['more']}>{more}</span>}
        </>
      );
    },
    second: ({ health }) => health && healthText(health),
  },
  {
    id: 'state',
    header: t`State`,
    width: 'clamp(128px, 34vw, 11rem)',
    cell: (webhook) => <WebhookState webhook={webhook} />,
  },
  {
    id: 'success',
    header: t`Success, 24 h`,
    width: '11.5rem',
    from: 'medium',
    cell: ({ health }) =>
      health && (
        <span className={styles['figure']}>
          <span className={styles['number']}>{formatRate(health.success_rate)}</span>
          <Sparkline
            values={health.hours.map(rateOf)}
            most={1}
            tone={isLow(health.success_rate) ? 'bad' : 'good'}
            label={t`Success by the hour`}
          />
        </span>
      ),
  },
  {
    id: 'p95',
    header: t`p95, 24 h`,
    width: '11.5rem',
    from: 'wide',
    cell: ({ health }) =>
      health && (
        <span className={styles['figure']}>
          <span className={styles['number']}>{formatMs(health.p95_ms)}</span>
          <Sparkline
            values={health.hours.map(({ p95_ms }) => p95_ms)}
            label={t`95th percentile by the hour`}
          />
        </span>
      ),
  },
  {
    id: 'failure',
    header: t`Last failure`,
    width: '14rem',
    from: 'wide',
    cell: ({ health }) => health?.last_failure_at && <LastFailure health={health} form="ago" />,
  },
  {
    id: 'held',
    header: t({ message: 'Held', context: 'deliveries' }),
    width: '6rem',
    from: 'wide',
    cell: ({ health }) => health && formatCount(health.held),
  },
];

/** On phones, where the columns of health have no room. */
function healthText({ success_rate: rate, held }: Health): string {
  const [success, count] = [formatRate(rate), formatCount(held)];
  return held > 0 ? t`${success} in 24 h · ${count} held` : t`${success} in 24 h`;
}

import { plural, t } from '@lingui/core/macro';
import type { Health } from '../../api/webhook-queries';
import { Facts } from '../../components/facts';
import { Section } from '../../components/section';
import { Sparkline } from '../../components/sparkline';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import styles from './webhook-page.module.css';

/** How fast a webhook is, in the last 24 hours, and how much is sent to it at once. */
export function WebhookHealth({ health }: { readonly health: Health }) {
  const { hours, p95_ms: p95, concurrency } = health;
  const slowest = hours.map((hour) => hour.p95_ms);
  return (
    <Section title={t`Health, 24 h`}>
      <Facts
        facts={{
          [t`Duration, p95`]: (
            <span className={styles['figure']}>
              {formatMs(p95)}
              <Sparkline
                values={slowest}
                label={t`95th percentile by the hour`}
                scale={[formatMs(Math.max(...slowest.map((ms) => ms ?? 0), 1)), formatMs(0)]}
              />
            </span>
          ),
          [t`Requests at once`]: describeConcurrency(concurrency),
          [t`Last success`]: health.last_success_at ? <Time at={health.last_success_at} /> : t`never`,
        }}
      />
    </Section>
  );
}

function describeConcurrency(concurrency: Health['concurrency']): string {
  if (!concurrency) return t`Not tried within the last minute`;
  const { limit, workers, reason } = concurrency;
  const isSetting = reason === 'max_concurrency';
  if (workers === 1)
    return isSetting
      ? t`Up to ${limit}, as its settings say`
      : t`Up to ${limit}: the number follows its responses`;
  const by = plural(workers, { one: '# worker', other: '# workers' });
  return isSetting
    ? t`Up to ${limit} by ${by}, as its settings say`
    : t`Up to ${limit} by ${by}: the number follows its responses`;
}

import type { Health } from '../../api/webhook-queries';
import { Facts } from '../../components/facts';
import { Section } from '../../components/section';
import { Sparkline } from '../../components/sparkline';
import { Time } from '../../components/time';
import { formatCount, formatMs, formatRate, rateOf } from '../webhooks/health-figures';
import { LastFailure } from '../webhooks/last-failure';
import styles from './webhook-page.module.css';

const BREAKERS: Readonly<Record<Health['breaker'], string>> = {
  closed: 'Deliveries are sent',
  half_open: 'One delivery is sent as a trial',
  open: 'It failed too often in a row: deliveries are held for a while',
};

/** The health of a webhook: the last 24 hours, and its current state. */
export function WebhookHealth({ health }: { readonly health: Health }) {
  const {
    hours,
    success_rate: rate,
    p95_ms: p95,
    attempts_24h: attempts,
    held,
    breaker,
    concurrency,
  } = health;
  const slowest = hours.map((hour) => hour.p95_ms);
  return (
    <Section title="Health, 24 h">
      <Facts
        facts={{
          Success: (
            <span className={styles['figure']}>
              {attempts === 0 ? 'No attempts' : `${formatRate(rate)} of ${formatCount(attempts)} attempts`}
              <Sparkline
                values={hours.map(rateOf)}
                most={1}
                tone="good"
                label="Success by the hour"
                scale={[formatRate(1), formatRate(0)]}
              />
            </span>
          ),
          'Duration, p95': (
            <span className={styles['figure']}>
              {formatMs(p95)}
              <Sparkline
                values={slowest}
                label="95th percentile by the hour"
                scale={[formatMs(Math.max(...slowest.map((ms) => ms ?? 0), 1)), formatMs(0)]}
              />
            </span>
          ),
          Held: formatCount(held),
          Breaker: BREAKERS[breaker],
          'Requests at once': describeConcurrency(concurrency),
          'Last success': health.last_success_at ? <Time at={health.last_success_at} /> : 'never',
          'Last failure': <LastFailure health={health} />,
        }}
      />
    </Section>
  );
}

function describeConcurrency(concurrency: Health['concurrency']): string {
  if (!concurrency) return 'Not tried within the last minute';
  const { limit, workers, reason } = concurrency;
  const most = `Up to ${formatCount(limit)}${workers === 1 ? '' : ` by ${formatCount(workers)} workers`}`;
  return reason === 'max_concurrency'
    ? `${most}, as its settings say`
    : `${most}: the number follows its responses`;
}

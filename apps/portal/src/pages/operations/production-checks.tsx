import { Badge } from '../../components/badge';
import { docsOf, docsUrlOf } from './docs-links';
import styles from './operations.module.css';
import type { Finding, Readiness } from './use-last-day';

const names: Readonly<Record<Finding['check'], string>> = {
  public_url: 'Public address',
  tls: 'TLS',
  encryption_key: 'Encryption key',
  bootstrap_key: 'Bootstrap key',
  redis_fsync: 'Redis writes to disk',
  clock: 'Clocks',
  mail: 'Mail',
  history: 'History',
  prometheus: 'Prometheus',
};

const states = {
  good: { tone: 'good', text: 'there' },
  missing: { tone: 'warning', text: 'missing' },
  unknown: { tone: 'neutral', text: 'not known' },
} as const;

/** Missing for production, with what leads to help. It is open as long as something is. */
export function ProductionChecks({ readiness: { checks } }: { readonly readiness: Readiness }) {
  const left = checks.filter(({ state }) => state !== 'good').length;
  const summary =
    left === 0 ? 'Ready for production' : `Before production: ${left} of ${checks.length} to look at`;
  return (
    <details key={String(left > 0)} className={styles['checks']} open={left > 0}>
      <summary>{summary}</summary>
      <ul aria-label="Before production">
        {checks.map(({ check, state, detail }) => (
          <li key={check}>
            <span className={styles['check']}>{names[check]}</span>
            <Badge tone={states[state].tone}>{states[state].text}</Badge>
            <span className={styles['detail']}>{detail}</span>
            <a
              href={docsUrlOf(docsOf[check])}
              target="_blank"
              rel="noreferrer"
              aria-label={`How to: ${names[check]}`}
            >
              How to
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

import { Badge } from '../../components/badge';
import { TextWithCode } from '../../components/text-with-code';
import styles from './operations.module.css';
import type { Finding, Readiness } from './use-last-day';

const REPOSITORY = 'https://github.com/hookferry/hookferry/blob/main/';

const names: Readonly<Record<Finding['check'], string>> = {
  public_url: 'Public address',
  tls: 'TLS',
  encryption_key: 'Encryption key',
  trust_proxy: 'Addresses of clients',
  redis_fsync: 'Redis writes to disk',
  redis_memory: 'Memory of Redis',
  clock: 'Clocks',
  bootstrap_key: 'Bootstrap key',
  old_encryption_keys: 'Old encryption keys',
  workers: 'Two workers',
  redis_replicas: 'Replicas of Redis',
  mail: 'Mail',
  history: 'History',
  prometheus: 'Prometheus',
};

const states = {
  good: { tone: 'good', text: 'there' },
  missing: { tone: 'warning', text: 'missing' },
  unknown: { tone: 'neutral', text: 'not known' },
} as const;

/** Missing for production, with what leads to help. It is open as long as something required is. */
export function ProductionChecks({ readiness: { checks } }: { readonly readiness: Readiness }) {
  const required = checks.filter(({ level }) => level === 'required');
  const advised = checks.filter(({ level }) => level === 'advised');
  const left = leftOf(required);
  const summary =
    left === 0 ? 'Ready for production' : `Before production: ${left} of ${required.length} to look at`;
  const leftAdvised = leftOf(advised);
  const advice = leftAdvised === 0 ? '' : `; advised: ${leftAdvised} of ${advised.length}`;
  return (
    <details key={String(left > 0)} className={styles['checks']} open={left > 0}>
      <summary>
        {summary}
        {advice}
      </summary>
      <Checks title="Required" checks={required} />
      <Checks title="Advised" checks={advised} />
    </details>
  );
}

const leftOf = (checks: readonly Finding[]) => checks.filter(({ state }) => state !== 'good').length;

function Checks({ title, checks }: { readonly title: string; readonly checks: readonly Finding[] }) {
  return (
    <>
      <h2>{title}</h2>
      <ul aria-label={`${title} for production`}>
        {checks.map(({ check, level, state, detail, docs }) => (
          <li key={check}>
            <span className={styles['check']}>{names[check]}</span>
            <Badge tone={toneOf(level, state)}>{states[state].text}</Badge>
            <span className={styles['detail']}>
              <TextWithCode text={detail} />
            </span>
            <a
              href={`${REPOSITORY}${docs}`}
              target="_blank"
              rel="noreferrer"
              aria-label={`How to: ${names[check]}`}
            >
              How to
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What is only advised is no warning. */
function toneOf(level: Finding['level'], state: Finding['state']) {
  return level === 'advised' && state === 'missing' ? 'neutral' : states[state].tone;
}

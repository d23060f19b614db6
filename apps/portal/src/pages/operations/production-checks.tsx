import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Badge } from '../../components/badge';
import { TextWithCode } from '../../components/text-with-code';
import styles from './operations.module.css';
import type { Finding, Readiness } from './use-last-day';

const REPOSITORY = 'https://github.com/hookferry/hookferry/blob/main/';

const names: Readonly<Record<Finding['check'], string>> = {
  public_url: t`Public address`,
  tls: 'TLS',
  encryption_key: t`Encryption key`,
  trust_proxy: t`Addresses of clients`,
  redis_fsync: t`Redis writes to disk`,
  redis_memory: t`Memory of Redis`,
  clock: t`Clocks`,
  bootstrap_key: t`Bootstrap key`,
  old_encryption_keys: t`Old encryption keys`,
  workers: t`Two workers`,
  redis_replicas: t`Replicas of Redis`,
  mail: t`Mail`,
  history: t`History`,
  prometheus: 'Prometheus', // untranslated: a name,
};

const states = {
  good: { tone: 'good', text: t`there` },
  missing: { tone: 'warning', text: t`missing` },
  unknown: { tone: 'neutral', text: t`not known` },
} as const;

/** Missing for production, with what leads to help. It is open as long as something required is. */
export function ProductionChecks({ readiness: { checks } }: { readonly readiness: Readiness }) {
  const required = checks.filter(({ level }) => level === 'required');
  const advised = checks.filter(({ level }) => level === 'advised');
  const left = leftOf(required);
  return (
    <details key={String(left > 0)} className={styles['checks']} open={left > 0}>
      <summary>
        {summaryOf({ left, all: required.length, leftAdvised: leftOf(advised), allAdvised: advised.length })}
      </summary>
      <Checks title={t`Required`} label={t`Required for production`} checks={required} />
      <Checks title={t`Advised`} label={t`Advised for production`} checks={advised} />
    </details>
  );
}

const leftOf = (checks: readonly Finding[]) => checks.filter(({ state }) => state !== 'good').length;

interface Counts {
  readonly left: number;
  readonly all: number;
  readonly leftAdvised: number;
  readonly allAdvised: number;
}

function summaryOf({ left, all, leftAdvised, allAdvised }: Counts): string {
  if (left === 0 && leftAdvised === 0) return t`Ready for production`;
  if (left === 0) return t`Ready for production; advised: ${leftAdvised} of ${allAdvised}`;
  if (leftAdvised === 0) return t`Before production: ${left} of ${all} to look at`;
  return t`Before production: ${left} of ${all} to look at; advised: ${leftAdvised} of ${allAdvised}`;
}

interface ChecksProps {
  readonly title: string;
  readonly label: string;
  readonly checks: readonly Finding[];
}

function Checks({ title, label, checks }: ChecksProps) {
  return (
    <>
      <h2>{title}</h2>
      <ul aria-label={label}>
        {checks.map(({ check, level, state, detail, docs }) => (
          <li key={check}>
            <span className={styles['check']}>{names[check]}</span>
            <Badge tone={toneOf(level, state)}>{states[state].text}</Badge>
            <span className={styles['detail']} dir="auto">
              <TextWithCode text={detail} />
            </span>
            <a
              href={`${REPOSITORY}${docs}`}
              target="_blank"
              rel="noreferrer"
              aria-label={howTo(names[check])}
            >
              <Trans>How to</Trans>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

const howTo = (name: string) => t`How to: ${name}`;

/** What is only advised is no warning. */
function toneOf(level: Finding['level'], state: Finding['state']) {
  return level === 'advised' && state === 'missing' ? 'neutral' : states[state].tone;
}

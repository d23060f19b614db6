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
  redis_default_user: t`Restart of Redis`,
  redis_memory: t`Memory of Redis`,
  clock: t`Clocks`,
  same_settings: t`Same settings everywhere`,
  bootstrap_key: t`Bootstrap key`,
  old_encryption_keys: t`Old encryption keys`,
  workers: t`Two workers`,
  redis_replicas: t`Replicas of Redis`,
  mail: t`Mail`,
  history: t`History`,
  prometheus: 'Prometheus', // untranslated: a name,
};

/** The words of each code. One that is newer than these pages has the service's own. */
const findings: Readonly<
  Record<Exclude<Finding['code'], 'redis_fsync_missing' | 'same_settings_missing'>, string>
> = {
  public_url_good: t`Links begin with PUBLIC_URL.`,
  public_url_missing: t`PUBLIC_URL is not set: links begin with whatever host a request names. Set it for the API.`,
  tls_good: t`PUBLIC_URL is an https: address.`,
  tls_missing: t`PUBLIC_URL is no https: address: keys, links and payloads may travel in the clear. Put a proxy with TLS in front of the API.`,
  encryption_key_good: t`Secrets are sealed when they are stored. Those from the time before there was a key are, once \`hookferry-admin keys reseal\` has run.`,
  encryption_key_missing: t`SECRETS_ENCRYPTION_KEY is not set: secrets are in Redis as plain text. Set it for the API and all workers.`,
  encryption_key_unreadable: t`Stored secrets can't be opened, and their webhooks get nothing: SECRETS_ENCRYPTION_KEY lacks the key that sealed them. Add that key behind the present one, for the API and all workers.`,
  trust_proxy_good: t`Limits and logs have the addresses of clients.`,
  trust_proxy_missing: t`TRUST_PROXY is off: behind the proxy that ends TLS all clients share one address, and one with wrong keys locks all out. Set how many proxies there are.`,
  redis_fsync_good: t`Redis writes to disk before it acknowledges.`,
  redis_fsync_unknown: t`This user of Redis may not read appendfsync (ACL +config|get): look whether it is always.`,
  redis_appendonly_missing: t`appendonly is no: when Redis restarts, the events since its last snapshot are lost. Set it to yes.`,
  redis_default_user_good: t`When Redis restarts, its user default may replay the append-only file.`,
  redis_default_user_missing: t`The user default of Redis lacks rights: Redis replays its append-only file as this user, and may forget nearly all when it restarts. Give it ~* &* +@all; it can be off.`,
  redis_default_user_unknown: t`This user of Redis may not read the rights of the user default (ACL +acl|getuser): look whether it has ~* &* +@all.`,
  redis_memory_good: t`Redis has a maxmemory, and deletes nothing when that is full.`,
  redis_memory_missing: t`maxmemory is not set, or maxmemory-policy is not noeviction: Redis is killed, or deletes deliveries. Set both.`,
  redis_replicas_good: t`Each Redis master has a replica.`,
  redis_replicas_missing: t`A Redis master has no replica: nothing works while it is away, and all is lost with its disk. Run replicas with Sentinels, or a Cluster with replicas.`,
  redis_info_unknown: t`INFO of Redis does not say, or its user may not ask: permit it (ACL +info), or look yourself.`,
  clock_good: t`The clocks of this API, of all workers and of Redis agree.`,
  clock_missing: t`The clock of this API or of a worker differs from that of Redis by more than two seconds: synchronise all machines (NTP). The metric webhooks_clock_skew_seconds says which.`,
  same_settings_good: t`This API and all workers have the same settings, where they must.`,
  same_settings_unknown: t`No worker runs that could say which settings it has.`,
  bootstrap_key_good: t`BOOTSTRAP_API_KEY is not set. If it was, revoke its key, which is named bootstrap.`,
  bootstrap_key_missing: t`BOOTSTRAP_API_KEY is still in use: it has every scope, and lies in the settings. Make a key of your own, remove the setting, and revoke its key.`,
  old_encryption_keys_good: t`SECRETS_ENCRYPTION_KEY has one key: no older one is left to remove.`,
  old_encryption_keys_unknown: t`SECRETS_ENCRYPTION_KEY has several keys: \`hookferry-admin keys reseal --dry-run\` counts what the first one does not seal yet. Reseal it, then remove the others.`,
  workers_good: t`At least two workers run.`,
  workers_missing: t`Fewer than two workers run: nothing is delivered while one is replaced. Start another one.`,
  mail_good: t`The API and all workers can tell contacts by mail.`,
  mail_missing: t`MAIL_FROM is not set for the API, or SMTP_URL not for each worker: nobody is told by mail. Set both.`,
  mail_unknown: t`MAIL_FROM is set here; no worker runs that could say whether it has SMTP_URL.`,
  history_good: t`Ended deliveries move to PostgreSQL.`,
  history_missing: t`HISTORY_DATABASE_URL is not set: only recent deliveries are kept, and the overview reaches back 24 hours. Set it if that is too short.`,
  prometheus_good: t`Somebody reads the metrics of this API.`,
  prometheus_missing: t`Nobody has read /metrics of this API in the last five minutes: no alert can tell of a fault. Let Prometheus scrape every process.`,
};

function textOf({ code, values }: Finding): string | undefined {
  if (code === 'redis_fsync_missing') return fsyncText(values['appendfsync'] ?? '');
  if (code === 'same_settings_missing')
    return settingsText(values['settings'] ?? '', values['workers'] ?? '');
  return Object.hasOwn(findings, code) ? findings[code] : undefined;
}

const fsyncText = (appendfsync: string) =>
  t`appendfsync is ${appendfsync}: a power cut loses about a second of acknowledged events, or more. Set it to always.`;

const settingsText = (settings: string, workers: string) =>
  t`Processes differ in ${settings}: chance decides which value an event meets. Give these workers the values of this API and of the other workers: ${workers}.`;

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
        {checks.map((finding) => {
          const { check, level, state, detail, docs } = finding;
          const text = textOf(finding);
          return (
            <li key={check}>
              <span className={styles['check']}>{names[check]}</span>
              <Badge tone={toneOf(level, state)}>{states[state].text}</Badge>
              <span className={styles['detail']} dir={text === undefined ? 'auto' : undefined}>
                <TextWithCode text={text ?? detail} />
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
          );
        })}
      </ul>
    </>
  );
}

const howTo = (name: string) => t`How to: ${name}`;

/** What is only advised is no warning. */
function toneOf(level: Finding['level'], state: Finding['state']) {
  return level === 'advised' && state === 'missing' ? 'neutral' : states[state].tone;
}

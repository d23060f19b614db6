import { TOLD_FROM_MS } from '../platform/redis-clock';
import type { RedisSafety } from '../platform/redis-safety';
import { findDisagreement, type SettingDigests } from './agreed-settings';
import type { SeenWorker } from './redis-worker-reports';

/** `required`: without it, data or customers are at risk. `advised`: the service runs well without it, until a bad day. */
export const readinessLevels = ['required', 'advised'] as const;
export type ReadinessLevel = (typeof readinessLevels)[number];

interface Check {
  readonly level: ReadinessLevel;
  /** The heading that says how to have it, as a path within the repository. */
  readonly docs: string;
}

const checks = {
  public_url: { level: 'required', docs: 'docs/portal.md#settings' },
  tls: { level: 'required', docs: 'docs/deploying.md#what-to-set-in-production' },
  encryption_key: { level: 'required', docs: 'docs/security.md#secrets-at-rest' },
  trust_proxy: { level: 'required', docs: 'docs/limits.md#the-clients-address' },
  redis_fsync: { level: 'required', docs: 'docs/redis.md#settings' },
  redis_default_user: { level: 'required', docs: 'docs/redis.md#users-of-redis' },
  redis_memory: { level: 'required', docs: 'docs/redis.md#settings' },
  clock: { level: 'required', docs: 'docs/reliability.md#what-is-assumed-of-clocks' },
  same_settings: { level: 'required', docs: 'docs/configuration.md#the-same-everywhere' },
  bootstrap_key: { level: 'advised', docs: 'docs/api-keys.md#the-first-key' },
  old_encryption_keys: { level: 'advised', docs: 'docs/security.md#secrets-at-rest' },
  workers: { level: 'advised', docs: 'docs/upgrading.md#when-a-worker-is-killed' },
  redis_replicas: { level: 'advised', docs: 'docs/reliability.md#a-fail-over' },
  mail: { level: 'advised', docs: 'docs/notifications.md#for-operators' },
  history: { level: 'advised', docs: 'docs/history.md#what-moves-and-when' },
  prometheus: { level: 'advised', docs: 'docs/operations.md#dashboards-and-alerts' },
} as const satisfies Readonly<Record<string, Check>>;

/** Checks of an installation before others rely on it. */
export type ReadinessCheck = keyof typeof checks;
export const readinessChecks = Object.keys(checks) as readonly ReadinessCheck[];

/** `unknown`: it can't be told from here. */
export const readinessStates = ['good', 'missing', 'unknown'] as const;
export type ReadinessState = (typeof readinessStates)[number];

/** What is found: a sentence, and what to do, by a code that stays the same when the words don't. */
const details = {
  public_url_good: 'Links begin with PUBLIC_URL.',
  public_url_missing:
    'PUBLIC_URL is not set: links begin with whatever host a request names. Set it for the API.',
  tls_good: 'PUBLIC_URL is an https: address.',
  tls_missing:
    'PUBLIC_URL is no https: address: keys, links and payloads may travel in the clear. Put a proxy with TLS in front of the API.',
  encryption_key_good:
    'Secrets are sealed when they are stored. Those from the time before there was a key are, once `hookferry-admin keys reseal` has run.',
  encryption_key_unreadable:
    "Stored secrets can't be opened, and their webhooks get nothing: SECRETS_ENCRYPTION_KEY lacks the key that sealed them. Add that key behind the present one, for the API and all workers.",
  encryption_key_missing:
    'SECRETS_ENCRYPTION_KEY is not set: secrets are in Redis as plain text. Set it for the API and all workers.',
  trust_proxy_good: 'Limits and logs have the addresses of clients.',
  trust_proxy_missing:
    'TRUST_PROXY is off: behind the proxy that ends TLS all clients share one address, and one with wrong keys locks all out. Set how many proxies there are.',
  redis_fsync_good: 'Redis writes to disk before it acknowledges.',
  redis_fsync_missing:
    'appendfsync is {appendfsync}: a power cut loses about a second of acknowledged events, or more. Set it to always.',
  redis_fsync_unknown:
    'This user of Redis may not read appendfsync (ACL +config|get): look whether it is always.',
  redis_appendonly_missing:
    'appendonly is no: when Redis restarts, the events since its last snapshot are lost. Set it to yes.',
  redis_default_user_good: 'When Redis restarts, its user default may replay the append-only file.',
  redis_default_user_missing:
    'The user default of Redis lacks rights: Redis replays its append-only file as this user, and may forget nearly all when it restarts. Give it ~* &* +@all; it can be off.',
  redis_default_user_unknown:
    'This user of Redis may not read the rights of the user default (ACL +acl|getuser): look whether it has ~* &* +@all.',
  redis_memory_good: 'Redis has a maxmemory, and deletes nothing when that is full.',
  redis_memory_missing:
    'maxmemory is not set, or maxmemory-policy is not noeviction: Redis is killed, or deletes deliveries. Set both.',
  redis_replicas_good: 'Each Redis master has a replica.',
  redis_replicas_missing:
    'A Redis master has no replica: nothing works while it is away, and all is lost with its disk. Run replicas with Sentinels, or a Cluster with replicas.',
  redis_info_unknown:
    'INFO of Redis does not say, or its user may not ask: permit it (ACL +info), or look yourself.',
  clock_good: 'The clocks of this API, of all workers and of Redis agree.',
  clock_missing:
    'The clock of this API or of a worker differs from that of Redis by more than two seconds: synchronise all machines (NTP). The metric webhooks_clock_skew_seconds says which.',
  same_settings_good: 'This API and all workers have the same settings, where they must.',
  same_settings_missing:
    'Processes differ in {settings}: chance decides which value an event meets. Give these workers the values of this API and of the other workers: {workers}.',
  same_settings_unknown: 'No worker runs that could say which settings it has.',
  bootstrap_key_good: 'BOOTSTRAP_API_KEY is not set. If it was, revoke its key, which is named bootstrap.',
  bootstrap_key_missing:
    'BOOTSTRAP_API_KEY is still in use: it has every scope, and lies in the settings. Make a key of your own, remove the setting, and revoke its key.',
  old_encryption_keys_good: 'SECRETS_ENCRYPTION_KEY has one key: no older one is left to remove.',
  // How much the others still seal is known to nobody but a search through all accounts.
  old_encryption_keys_unknown:
    'SECRETS_ENCRYPTION_KEY has several keys: `hookferry-admin keys reseal --dry-run` counts what the first one does not seal yet. Reseal it, then remove the others.',
  workers_good: 'At least two workers run.',
  workers_missing:
    'Fewer than two workers run: nothing is delivered while one is replaced. Start another one.',
  mail_good: 'The API and all workers can tell contacts by mail.',
  mail_missing:
    'MAIL_FROM is not set for the API, or SMTP_URL not for each worker: nobody is told by mail. Set both.',
  mail_unknown: 'MAIL_FROM is set here; no worker runs that could say whether it has SMTP_URL.',
  history_good: 'Ended deliveries move to PostgreSQL.',
  history_missing:
    'HISTORY_DATABASE_URL is not set: only recent deliveries are kept, and the overview reaches back 24 hours. Set it if that is too short.',
  prometheus_good: 'Somebody reads the metrics of this API.',
  prometheus_missing:
    'Nobody has read /metrics of this API in the last five minutes: no alert can tell of a fault. Let Prometheus scrape every process.',
} as const;

export type ReadinessCode = keyof typeof details;
export const readinessCodes = Object.keys(details) as readonly ReadinessCode[];

export interface ReadinessFinding extends Check {
  readonly check: ReadinessCheck;
  readonly state: ReadinessState;
  readonly code: ReadinessCode;
  /** What the sentence of the code names, such as `{ appendfsync: 'everysec' }`. No value of a setting of ours is among them. */
  readonly values: Readonly<Record<string, string>>;
  /** The sentence of the code, with its values, in English. */
  readonly detail: string;
}

/** What only the API knows. */
export interface ReadinessOfApi {
  readonly publicUrl: string | undefined;
  readonly encryptionKeys: number;
  readonly trustsProxy: boolean;
  readonly hasBootstrapKey: boolean;
  readonly hasMailFrom: boolean;
  readonly hasHistory: boolean;
  /** By how much its machine's clock is ahead of Redis. `undefined`: not known yet. */
  readonly skewMs: number | undefined;
  /** When Prometheus asked it last. Milliseconds since the Unix epoch. */
  readonly lastScrapedAt: number | undefined;
  readonly settings: SettingDigests;
}

/** An `unknown` one is for people to look at: services that host Redis, say, let nobody ask. */
export function isReady(findings: readonly ReadinessFinding[]): boolean {
  return findings.every(({ level, state }) => level === 'advised' || state !== 'missing');
}

/** @param api `opensSecrets`: whether it could open those stored secrets that it tried. */
export function checkReadiness(
  api: ReadinessOfApi & { readonly opensSecrets: boolean },
  redis: RedisSafety,
  workers: readonly SeenWorker[],
  now: number,
): readonly ReadinessFinding[] {
  return [
    ...checkApi(api),
    ...checkRedis(redis),
    finding(
      'clock',
      [api.skewMs, ...workers.map(({ skewMs }) => skewMs)].every(
        (skewMs = 0) => Math.abs(skewMs) <= TOLD_FROM_MS,
      ),
    ),
    settingsFinding(api.settings, workers),
    finding('workers', workers.length >= 2),
    mailFinding(
      api.hasMailFrom,
      workers.map(({ sendsMail }) => sendsMail),
    ),
    finding('prometheus', api.lastScrapedAt !== undefined && now - api.lastScrapedAt < SCRAPED_WITHIN_MS),
  ].toSorted((left, right) => readinessChecks.indexOf(left.check) - readinessChecks.indexOf(right.check));
}

// Of a whole deployment that differs, some say enough.
const MOST_NAMED = 5;
// Prometheus asks every minute at the least, as usual.
const SCRAPED_WITHIN_MS = 5 * 60_000;

function checkApi(api: Parameters<typeof checkReadiness>[0]): readonly ReadinessFinding[] {
  const { publicUrl, encryptionKeys, opensSecrets } = api;
  return [
    finding('public_url', publicUrl !== undefined),
    finding('tls', publicUrl?.startsWith('https:') === true),
    opensSecrets
      ? finding('encryption_key', encryptionKeys > 0)
      : findingOf('encryption_key', 'missing', 'encryption_key_unreadable'),
    finding('trust_proxy', api.trustsProxy),
    finding('bootstrap_key', !api.hasBootstrapKey),
    encryptionKeys > 1
      ? findingOf('old_encryption_keys', 'unknown', 'old_encryption_keys_unknown')
      : findingOf('old_encryption_keys', 'good', 'old_encryption_keys_good'),
    finding('history', api.hasHistory),
  ];
}

function checkRedis(redis: RedisSafety): readonly ReadinessFinding[] {
  return [
    persistenceFinding(redis),
    redis.canReplay === undefined
      ? findingOf('redis_default_user', 'unknown', 'redis_default_user_unknown')
      : finding('redis_default_user', redis.canReplay),
    infoFinding('redis_memory', redis.keepsWithinMemory),
    infoFinding('redis_replicas', redis.hasReplicas),
  ];
}

/** Those of which nothing more can be said than whether it is there. */
type PlainCheck = Exclude<ReadinessCheck, 'redis_fsync' | 'old_encryption_keys' | 'same_settings'>;

function finding(check: PlainCheck, isGood: boolean): ReadinessFinding {
  const state = isGood ? 'good' : 'missing';
  return findingOf(check, state, `${check}_${state}`);
}

function findingOf(
  check: ReadinessCheck,
  state: ReadinessState,
  code: ReadinessCode,
  values: ReadinessFinding['values'] = {},
): ReadinessFinding {
  const detail = details[code].replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? '');
  return { check, ...checks[check], state, code, values, detail };
}

function infoFinding(
  check: 'redis_memory' | 'redis_replicas',
  isGood: boolean | undefined,
): ReadinessFinding {
  if (isGood !== undefined) return finding(check, isGood);
  return findingOf(check, 'unknown', 'redis_info_unknown');
}

function persistenceFinding({ isAppendOnly, fsync }: RedisSafety): ReadinessFinding {
  const check = 'redis_fsync';
  if (isAppendOnly === false) return findingOf(check, 'missing', 'redis_appendonly_missing');
  if (fsync === undefined) return findingOf(check, 'unknown', 'redis_fsync_unknown');
  if (fsync === 'always') return findingOf(check, 'good', 'redis_fsync_good');
  return findingOf(check, 'missing', 'redis_fsync_missing', { appendfsync: fsync });
}

function mailFinding(
  hasMailFrom: boolean,
  workersSendMail: readonly (boolean | undefined)[],
): ReadinessFinding {
  if (hasMailFrom && workersSendMail.length === 0) return findingOf('mail', 'unknown', 'mail_unknown');
  return finding('mail', hasMailFrom && workersSendMail.every((sendsMail) => sendsMail === true));
}

function settingsFinding(api: SettingDigests, workers: readonly SeenWorker[]): ReadinessFinding {
  const check = 'same_settings';
  if (workers.every(({ settings }) => settings === undefined))
    return findingOf(check, 'unknown', 'same_settings_unknown');
  const differing = findDisagreement(api, workers);
  if (differing.settings.length === 0) return findingOf(check, 'good', 'same_settings_good');
  const named = workers
    .filter(({ id }) => differing.workers.includes(id))
    .map(({ id, host, pid }) => `${id} (${host}, ${pid})`);
  return findingOf(check, 'missing', 'same_settings_missing', {
    settings: differing.settings.join(', '),
    workers: [...named.slice(0, MOST_NAMED), ...(named.length > MOST_NAMED ? ['…'] : [])].join(', '),
  });
}

import { TOLD_FROM_MS } from '../platform/redis-clock';
import type { RedisSafety } from '../platform/redis-safety';
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
  redis_memory: { level: 'required', docs: 'docs/redis.md#settings' },
  clock: { level: 'required', docs: 'docs/reliability.md#what-is-assumed-of-clocks' },
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

export interface ReadinessFinding extends Check {
  readonly check: ReadinessCheck;
  readonly state: ReadinessState;
  /** A sentence, and what to do. It repeats no value of a setting. */
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
}

/** An `unknown` one is for people to look at: services that host Redis, say, let nobody ask. */
export function isReady(findings: readonly ReadinessFinding[]): boolean {
  return findings.every(({ level, state }) => level === 'advised' || state !== 'missing');
}

export function checkReadiness(
  api: ReadinessOfApi,
  redis: RedisSafety,
  workers: readonly SeenWorker[],
  now: number,
): readonly ReadinessFinding[] {
  return [
    ...checkApi(api),
    ...checkRedis(redis),
    clockFinding([api.skewMs, ...workers.map(({ skewMs }) => skewMs)]),
    finding('workers', workers.length >= 2, {
      good: 'At least two workers run.',
      missing: 'Fewer than two workers run: nothing is delivered while one is replaced. Start another one.',
    }),
    mailFinding(
      api.hasMailFrom,
      workers.map(({ sendsMail }) => sendsMail),
    ),
    finding('prometheus', api.lastScrapedAt !== undefined && now - api.lastScrapedAt < SCRAPED_WITHIN_MS, {
      good: 'Somebody reads the metrics of this API.',
      missing:
        'Nobody has read /metrics of this API in the last five minutes: no alert can tell of a fault. Let Prometheus scrape every process.',
    }),
  ].toSorted((left, right) => readinessChecks.indexOf(left.check) - readinessChecks.indexOf(right.check));
}

// Prometheus asks every minute at the least, as usual.
const SCRAPED_WITHIN_MS = 5 * 60_000;

function checkApi(api: ReadinessOfApi): readonly ReadinessFinding[] {
  const { publicUrl, encryptionKeys } = api;
  return [
    finding('public_url', publicUrl !== undefined, {
      good: 'Links begin with PUBLIC_URL.',
      missing: 'PUBLIC_URL is not set: links begin with whatever host a request names. Set it for the API.',
    }),
    finding('tls', publicUrl?.startsWith('https:') === true, {
      good: 'PUBLIC_URL is an https: address.',
      missing:
        'PUBLIC_URL is no https: address: keys, links and payloads may travel in the clear. Put a proxy with TLS in front of the API.',
    }),
    finding('encryption_key', encryptionKeys > 0, {
      good: 'Secrets are sealed when they are stored. Those from the time before there was a key are, once `hookferry-admin keys reseal` has run.',
      missing:
        'SECRETS_ENCRYPTION_KEY is not set: secrets are in Redis as plain text. Set it for the API and all workers.',
    }),
    finding('trust_proxy', api.trustsProxy, {
      good: 'Limits and logs have the addresses of clients.',
      missing:
        'TRUST_PROXY is off: behind the proxy that ends TLS all clients share one address, and one with wrong keys locks all out. Set how many proxies there are.',
    }),
    finding('bootstrap_key', !api.hasBootstrapKey, {
      good: 'BOOTSTRAP_API_KEY is not set. If it was, revoke its key, which is named bootstrap.',
      missing:
        'BOOTSTRAP_API_KEY is still in use: it has every scope, and lies in the settings. Make a key of your own, remove the setting, and revoke its key.',
    }),
    encryptionKeys > 1
      ? unknownFinding('old_encryption_keys', SEVERAL_KEYS)
      : finding('old_encryption_keys', true, {
          good: 'SECRETS_ENCRYPTION_KEY has one key: no older one is left to remove.',
          missing: '',
        }),
    finding('history', api.hasHistory, {
      good: 'Ended deliveries move to PostgreSQL.',
      missing:
        'HISTORY_DATABASE_URL is not set: only recent deliveries are kept, and the overview reaches back 24 hours. Set it if that is too short.',
    }),
  ];
}

// How much the others still seal is known to nobody but a search through all accounts.
const SEVERAL_KEYS =
  'SECRETS_ENCRYPTION_KEY has several keys: `hookferry-admin keys reseal --dry-run` counts what the first one does not seal yet. Reseal it, then remove the others.';

function checkRedis(redis: RedisSafety): readonly ReadinessFinding[] {
  return [
    persistenceFinding(redis),
    infoFinding('redis_memory', redis.keepsWithinMemory, {
      good: 'Redis has a maxmemory, and deletes nothing when that is full.',
      missing:
        'maxmemory is not set, or maxmemory-policy is not noeviction: Redis is killed, or deletes deliveries. Set both.',
    }),
    infoFinding('redis_replicas', redis.hasReplicas, {
      good: 'Each Redis master has a replica.',
      missing:
        'A Redis master has no replica: nothing works while it is away, and all is lost with its disk. Run replicas with Sentinels, or a Cluster with replicas.',
    }),
  ];
}

function finding(
  check: ReadinessCheck,
  isGood: boolean,
  details: Readonly<Record<'good' | 'missing', string>>,
): ReadinessFinding {
  const state = isGood ? 'good' : 'missing';
  return { check, ...checks[check], state, detail: details[state] };
}

function unknownFinding(check: ReadinessCheck, detail: string): ReadinessFinding {
  return { check, ...checks[check], state: 'unknown', detail };
}

function infoFinding(
  check: ReadinessCheck,
  isGood: boolean | undefined,
  details: Readonly<Record<'good' | 'missing', string>>,
): ReadinessFinding {
  if (isGood !== undefined) return finding(check, isGood, details);
  return unknownFinding(
    check,
    'INFO of Redis does not say, or its user may not ask: permit it (ACL +info), or look yourself.',
  );
}

function persistenceFinding({ isAppendOnly, fsync }: RedisSafety): ReadinessFinding {
  const check = 'redis_fsync';
  if (isAppendOnly === false) {
    const missing =
      'appendonly is no: when Redis restarts, the events since its last snapshot are lost. Set it to yes.';
    return finding(check, false, { good: '', missing });
  }
  if (fsync === undefined) {
    return unknownFinding(
      check,
      'This user of Redis may not read appendfsync (ACL +config|get): look whether it is always.',
    );
  }
  return finding(check, fsync === 'always', {
    good: 'Redis writes to disk before it acknowledges.',
    missing: `appendfsync is ${fsync}: a power cut loses about a second of acknowledged events, or more. Set it to always.`,
  });
}

function clockFinding(skews: readonly (number | undefined)[]): ReadinessFinding {
  const isGood = skews.every((skewMs = 0) => Math.abs(skewMs) <= TOLD_FROM_MS);
  return finding('clock', isGood, {
    good: 'The clocks of this API, of all workers and of Redis agree.',
    missing:
      'The clock of this API or of a worker differs from that of Redis by more than two seconds: synchronise all machines (NTP). The metric webhooks_clock_skew_seconds says which.',
  });
}

function mailFinding(
  hasMailFrom: boolean,
  workersSendMail: readonly (boolean | undefined)[],
): ReadinessFinding {
  if (hasMailFrom && workersSendMail.length === 0) {
    return unknownFinding(
      'mail',
      'MAIL_FROM is set here; no worker runs that could say whether it has SMTP_URL.',
    );
  }
  return finding('mail', hasMailFrom && workersSendMail.every((sendsMail) => sendsMail === true), {
    good: 'The API and all workers can tell contacts by mail.',
    missing:
      'MAIL_FROM is not set for the API, or SMTP_URL not for each worker: nobody is told by mail. Set both.',
  });
}

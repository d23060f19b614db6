import { TOLD_FROM_MS } from '../platform/redis-clock';
import type { readPersistence } from '../platform/redis-safety';
import type { SeenWorker } from './redis-worker-reports';

/** Checks of an installation before others rely on it. */
export const readinessChecks = [
  'public_url',
  'tls',
  'encryption_key',
  'bootstrap_key',
  'redis_fsync',
  'clock',
  'mail',
  'history',
  'prometheus',
] as const;
export type ReadinessCheck = (typeof readinessChecks)[number];

/** `unknown`: it can't be told from here. */
export const readinessStates = ['good', 'missing', 'unknown'] as const;
export type ReadinessState = (typeof readinessStates)[number];

export interface ReadinessFinding {
  readonly check: ReadinessCheck;
  readonly state: ReadinessState;
  /** A sentence. It repeats no value of a setting. */
  readonly detail: string;
}

/** What only the API knows. */
export interface ReadinessOfApi {
  readonly publicUrl: string | undefined;
  readonly encryptionKeys: number;
  readonly hasBootstrapKey: boolean;
  readonly hasMailFrom: boolean;
  readonly hasHistory: boolean;
  /** By how much its machine's clock is ahead of Redis. `undefined`: not known yet. */
  readonly skewMs: number | undefined;
  /** When Prometheus asked it last. Milliseconds since the Unix epoch. */
  readonly lastScrapedAt: number | undefined;
}

type Persistence = Awaited<ReturnType<typeof readPersistence>>;

export function checkReadiness(
  api: ReadinessOfApi,
  persistence: Persistence,
  workers: readonly SeenWorker[],
  now: number,
): readonly ReadinessFinding[] {
  const { publicUrl, encryptionKeys, hasBootstrapKey, hasMailFrom, hasHistory, skewMs, lastScrapedAt } = api;
  return [
    finding('public_url', publicUrl !== undefined, {
      good: 'Links begin with PUBLIC_URL.',
      missing: 'PUBLIC_URL is not set: links begin with whatever host a request names.',
    }),
    finding('tls', publicUrl?.startsWith('https:') === true, {
      good: 'PUBLIC_URL is an https: address.',
      missing: 'PUBLIC_URL is no https: address: keys, links and payloads may travel in the clear.',
    }),
    finding('encryption_key', encryptionKeys > 0, {
      good: encryptionKeys > 1 ? SEVERAL_KEYS : 'Secrets are sealed in Redis.',
      missing: 'SECRETS_ENCRYPTION_KEY is not set: secrets are in Redis as plain text.',
    }),
    finding('bootstrap_key', !hasBootstrapKey, {
      good: 'BOOTSTRAP_API_KEY is not set. If it was, revoke its key, which is named bootstrap.',
      missing:
        'BOOTSTRAP_API_KEY is still in use: it has every scope, and lies in the settings. Make a key of your own, remove the setting, and revoke its key.',
    }),
    persistenceFinding(persistence),
    clockFinding([skewMs, ...workers.map((worker) => worker.skewMs)]),
    mailFinding(
      hasMailFrom,
      workers.map(({ sendsMail }) => sendsMail),
    ),
    finding('history', hasHistory, {
      good: 'Ended deliveries move to PostgreSQL.',
      missing:
        'HISTORY_DATABASE_URL is not set: only recent deliveries are kept, and the overview reaches back 24 hours.',
    }),
    finding('prometheus', lastScrapedAt !== undefined && now - lastScrapedAt < SCRAPED_WITHIN_MS, {
      good: 'Somebody reads the metrics of this API.',
      missing: 'Nobody has read /metrics of this API in the last five minutes: no alert can tell of a fault.',
    }),
  ];
}

// How much the others still seal is known to nobody but a search through all accounts.
const SEVERAL_KEYS =
  'Secrets are sealed in Redis. There are several keys: `hookferry-admin keys reseal --dry-run` counts what the first one does not seal yet.';

// Prometheus asks every minute at the least, as usual.
const SCRAPED_WITHIN_MS = 5 * 60_000;

function finding(
  check: ReadinessCheck,
  isGood: boolean,
  details: Readonly<Record<'good' | 'missing', string>>,
): ReadinessFinding {
  const state = isGood ? 'good' : 'missing';
  return { check, state, detail: details[state] };
}

function persistenceFinding({ isAppendOnly, fsync }: Persistence): ReadinessFinding {
  const check = 'redis_fsync';
  if (isAppendOnly === false) {
    const detail = 'appendonly is no: when Redis restarts, the events since its last snapshot are lost.';
    return { check, state: 'missing', detail };
  }
  if (fsync === undefined) {
    const detail = 'This user of Redis may not read appendfsync: look whether it is always.';
    return { check, state: 'unknown', detail };
  }
  return finding(check, fsync === 'always', {
    good: 'Redis writes to disk before it acknowledges.',
    missing: `appendfsync is ${fsync}: a power cut loses about a second of acknowledged events, or more.`,
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
    const detail = 'MAIL_FROM is set here; no worker runs that could say whether it has SMTP_URL.';
    return { check: 'mail', state: 'unknown', detail };
  }
  return finding('mail', hasMailFrom && workersSendMail.every((sendsMail) => sendsMail === true), {
    good: 'The API and all workers can tell contacts by mail.',
    missing: 'MAIL_FROM is not set for the API, or SMTP_URL not for each worker: nobody is told by mail.',
  });
}

import { createHash } from 'node:crypto';
import type { SealingKey } from '../platform/sealing-key';

/**
 * By these, processes accept, deliver and store. Where two differ, chance decides which one an event meets. The list names each
 * one, so that no secret gets into it by a change elsewhere.
 */
const BY_VALUE = [
  'QUEUE_SHARDS',
  'RETENTION',
  'RETENTION_COUNT',
  'SCHEDULE_MAX',
  'ACCOUNT_QUOTA_BYTES',
  'PUBLIC_URL',
  'ENDPOINT_VERIFICATION',
  'WEBHOOK_REQUEST_ORIGIN',
  'INTAKE',
  'AUDIT_RETENTION',
  'AUDIT_COUNT',
  'BUILT_IN_EVENT_TYPES',
  'DISABLE_AFTER',
  'DISABLE_FAILURE_SPAN',
  'DELIVERY_ALLOWED_CIDRS',
  'DELIVERY_DENIED_CIDRS',
  'TRANSFORM_TIMEOUT',
  'TRANSFORM_MEMORY_MB',
  'SOURCE',
  'MAX_EVENT_BYTES',
  'RETRY_SCHEDULE',
  'DELIVERY_TIMEOUT',
  // Of workers only.
  'DELIVERY_CONNECT_TIMEOUT',
  'HISTORY_RETENTION',
  'SIGNATURE_HEADER',
  'SIGNATURE_PREFIX',
  'TRACEPARENT_TO_RECEIVERS',
] as const;
/** Their values have passwords: all that is told is whether they are set. */
const BY_PRESENCE = ['HISTORY_DATABASE_URL', 'DELIVERY_PROXY_URL'] as const;

type Agreed = (typeof BY_VALUE)[number] | (typeof BY_PRESENCE)[number];

export type AgreeingConfig = Readonly<Partial<Record<Agreed, unknown>>> & {
  readonly SECRETS_ENCRYPTION_KEY: readonly SealingKey[];
};

/** A short digest of each setting, by its name. */
export type SettingDigests = Readonly<Record<string, string>>;

/** The digests of the settings that a process has, of those that processes must have alike. None is of a secret. */
export function digestsOf(config: AgreeingConfig): SettingDigests {
  const digests = new Map<string, string>();
  for (const name of BY_VALUE) if (name in config) digests.set(name, digestOf(config[name]));
  for (const name of BY_PRESENCE) if (name in config) digests.set(name, digestOf(config[name] !== undefined));
  const keyIds = config.SECRETS_ENCRYPTION_KEY.map(({ id }) => id);
  // In their order: the first one seals.
  digests.set('SECRETS_ENCRYPTION_KEY', digestOf(keyIds.join()));
  return Object.fromEntries(digests);
}

// Enough to tell a handful of values apart.
const DIGEST_DIGITS = 8;

function digestOf(value: unknown): string {
  // The order of ranges says nothing. That of a schedule, which has numbers, does.
  const isOfTexts = Array.isArray(value) && value.every((each) => typeof each === 'string');
  const text = JSON.stringify((isOfTexts ? value.toSorted() : value) ?? null);
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_DIGITS);
}

/** A process, and the digests that it told. Absent: an earlier version, which tells none. */
interface Telling {
  readonly id: string;
  readonly settings?: SettingDigests | undefined;
}

export interface Disagreement {
  /** The names of the settings that are not alike everywhere. */
  readonly settings: readonly string[];
  /** The ids of the workers that have others than the API; where it has none, than most workers. */
  readonly workers: readonly string[];
}

/** Compare what processes have told. */
export function findDisagreement(api: SettingDigests, workers: readonly Telling[]): Disagreement {
  const names = new Set(workers.flatMap(({ settings = {} }) => Object.keys(settings)));
  const differing = [...names].flatMap((name) => {
    const told = workers.flatMap(({ id, settings }) => {
      const digest = settings?.[name];
      return digest === undefined ? [] : [{ id, digest }];
    });
    const usual = api[name] ?? mostFrequent(told.map(({ digest }) => digest));
    const others = told.filter(({ digest }) => digest !== usual).map(({ id }) => id);
    return others.length === 0 ? [] : [{ name, others }];
  });
  return {
    settings: differing.map(({ name }) => name),
    workers: [...new Set(differing.flatMap(({ others }) => others))],
  };
}

function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0];
}

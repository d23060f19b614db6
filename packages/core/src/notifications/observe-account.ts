import type { AccountQuota } from '../accounts/account-quota';
import type { ApiKeyStore } from '../accounts/redis-api-key-store';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import type { Occasion, Subject } from '../domain/contact';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import { type DisablePolicy, disabledFrom } from '../endpoints/disable';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { HealthStore } from '../endpoints/health/redis-health-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { summarizeCertificate } from '../endpoints/tls/certificate';
import { type Clock, formatTime } from '../platform/clock';

/** Something that contacts are told of, as long as it is so. */
export interface Finding {
  readonly occasion: Occasion;
  readonly subject: Subject;
  /** What it is about within its occasion: the endpoint's id, a key's id; empty: the account. */
  readonly about: string;
  /** Differs from one time that it happens to the next: each is told once. */
  readonly episode: string;
  /** Since when it is so. Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface ObserveContext {
  readonly endpointStore: Pick<EndpointStore, 'list'>;
  readonly admissionStore: Pick<AdmissionStore, 'readFailing'>;
  readonly healthStore: Pick<HealthStore, 'readLastSuccess'>;
  readonly quota: Pick<AccountQuota, 'look'>;
  readonly apiKeyStore: Pick<ApiKeyStore, 'list'>;
  readonly signingKeyStore: Pick<SigningKeyStore, 'find'>;
  /** When the newest dead letter came; only operators are told. */
  readonly readNewestDeadLetter: () => Promise<number | undefined>;
  readonly disablePolicy: DisablePolicy | 'never';
  /** How long an endpoint fails before its contacts are told. */
  readonly failingAfterMs: number;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Certificates and API keys are announced so long before they expire. */
const EXPIRING_MS = 14 * DAY_MS;
const PAGE = 200;

/** The state of an account, as far as contacts are told of it. */
export interface Observation {
  readonly findings: readonly Finding[];
  /** The endpoints that there are. */
  readonly endpointIds: ReadonlySet<string>;
}

/**
 * All that contacts of the account may be told of at this moment. It reads and changes nothing.
 *
 * @param troubles endpoints of which they were told that they fail or are disabled → since when they failed.
 */
export async function observeAccount(
  context: ObserveContext,
  accountId: AccountId,
  troubles: ReadonlyMap<string, number>,
): Promise<Observation> {
  const [ofEndpoints, ofQuota, ofKeys, ofSigningKeys, ofDeadLetters] = await Promise.all([
    observeEndpoints(context, accountId, troubles),
    observeQuota(context, accountId),
    observeApiKeys(context, accountId),
    observeSigningKeys(context, accountId),
    observeDeadLetters(context, accountId),
  ]);
  const { findings, endpointIds } = ofEndpoints;
  return { findings: [...findings, ...ofQuota, ...ofKeys, ...ofSigningKeys, ...ofDeadLetters], endpointIds };
}

async function observeEndpoints(
  context: ObserveContext,
  accountId: AccountId,
  troubles: ReadonlyMap<string, number>,
): Promise<Observation> {
  const findings: Finding[] = [];
  const endpointIds = new Set<string>();
  let before: EndpointId | undefined;
  do {
    const { endpoints, nextCursor } = await context.endpointStore.list(accountId, PAGE, before);
    // The commands of a page go to Redis together.
    const found = await Promise.all(
      endpoints.map((endpoint) => observeEndpoint(context, endpoint, troubles.get(endpoint.id))),
    );
    findings.push(...found.flat());
    for (const { id } of endpoints) endpointIds.add(id);
    before = nextCursor;
  } while (before !== undefined);
  return { findings, endpointIds };
}

async function observeEndpoint(
  context: ObserveContext,
  endpoint: Endpoint,
  troubledSince: number | undefined,
): Promise<readonly Finding[]> {
  // Of a listener its user sees everything: it is a program of theirs that is connected.
  if (endpoint.listener) return [];
  const certificate = observeCertificate(endpoint, context.clock());
  if (endpoint.status === 'disabled') return [...observeDisabled(endpoint), ...certificate];
  return [...(await observeHealth(context, endpoint, troubledSince)), ...certificate];
}

function observeDisabled(endpoint: Endpoint): readonly Finding[] {
  const { disabledReason, enabledAt = endpoint.createdAt, updatedAt } = endpoint;
  // Its owner knows.
  if (disabledReason === undefined || disabledReason === 'client') return [];
  return [findingOf('disabled', endpoint, String(enabledAt), updatedAt, disabledReason)];
}

async function observeHealth(
  context: ObserveContext,
  endpoint: Endpoint,
  troubledSince: number | undefined,
): Promise<readonly Finding[]> {
  const { failingSince, openUntil } = await context.admissionStore.readFailing(endpoint.id);
  if (failingSince === undefined) {
    return troubledSince === undefined ? [] : await observeRecovery(context, endpoint, troubledSince);
  }
  const lastingAt = failingSince + context.failingAfterMs;
  // Without an open breaker so few have failed that it may be them.
  if (openUntil === 0 || lastingAt > context.clock()) return [];
  const episode = String(failingSince);
  const failing = findingOf('failing', endpoint, episode, lastingAt, formatTime(failingSince));
  return [failing, ...(await observeDisabling(context, endpoint, failingSince))];
}

/** Only a success proves it: an endpoint that was enabled again has not been tried yet. */
async function observeRecovery(
  { healthStore }: ObserveContext,
  endpoint: Endpoint,
  troubledSince: number,
): Promise<readonly Finding[]> {
  const { id, enabledAt = endpoint.createdAt } = endpoint;
  const lastSuccessAt = await healthStore.readLastSuccess(id);
  if (lastSuccessAt === undefined || lastSuccessAt <= Math.max(troubledSince, enabledAt)) return [];
  return [findingOf('recovered', endpoint, String(troubledSince), lastSuccessAt, formatTime(lastSuccessAt))];
}

async function observeDisabling(
  { healthStore, disablePolicy, clock }: ObserveContext,
  endpoint: Endpoint,
  failingSince: number,
): Promise<readonly Finding[]> {
  if (disablePolicy === 'never') return [];
  const lastSuccessAt = await healthStore.readLastSuccess(endpoint.id);
  const { enabledAt = endpoint.createdAt } = endpoint;
  const disabledAt = disabledFrom(disablePolicy, { failingSince, lastSuccessAt, enabledAt });
  const leftMs = disabledAt - clock();
  if (leftMs > DAY_MS) return [];
  const isSoon = leftMs <= HOUR_MS;
  const occasion = isSoon ? 'disabling_in_1h' : 'disabling_in_24h';
  const at = disabledAt - (isSoon ? HOUR_MS : DAY_MS);
  return [findingOf(occasion, endpoint, String(failingSince), at, formatTime(disabledAt))];
}

function observeCertificate(endpoint: Endpoint, now: number): readonly Finding[] {
  const pem = endpoint.tls?.certificate;
  if (pem === undefined) return [];
  const { expiresAt } = summarizeCertificate(pem);
  if (expiresAt - now > EXPIRING_MS) return [];
  const at = expiresAt - EXPIRING_MS;
  return [findingOf('certificate_expiring', endpoint, String(expiresAt), at, formatTime(expiresAt))];
}

function findingOf(
  occasion: Occasion,
  { id, url }: Endpoint,
  episode: string,
  at: number,
  detail: string,
): Finding {
  // Nothing but the host: a path or a query may be as good as a password.
  return {
    occasion,
    subject: { endpointId: id, label: new URL(url).host, detail },
    about: id,
    episode,
    at,
  };
}

const QUOTA_SHARES = [
  ['quota_80', 0.8],
  ['quota_100', 1],
] as const;

async function observeQuota(
  { quota, clock }: ObserveContext,
  accountId: AccountId,
): Promise<readonly Finding[]> {
  const { usedBytes, quotaBytes } = await quota.look(accountId);
  if (quotaBytes === undefined) return [];
  const detail = `${Math.floor((100 * usedBytes) / quotaBytes)} %`;
  return QUOTA_SHARES.filter(([, share]) => usedBytes >= share * quotaBytes).map(([occasion]) => ({
    occasion,
    subject: { detail },
    about: '',
    episode: 'over',
    at: clock(),
  }));
}

async function observeApiKeys(context: ObserveContext, accountId: AccountId): Promise<readonly Finding[]> {
  const { apiKeyStore, clock } = context;
  const findings: Finding[] = [];
  const now = clock();
  let before: string | undefined;
  do {
    const { apiKeys, nextCursor } = await apiKeyStore.list(accountId, PAGE, before);
    for (const { id, name, createdAt, expiresAt } of apiKeys) {
      if (expiresAt === undefined || expiresAt <= now || expiresAt - now > EXPIRING_MS) continue;
      // One that was made to live shortly surprises nobody.
      if (expiresAt - createdAt <= EXPIRING_MS) continue;
      const subject = { label: name, detail: formatTime(expiresAt) };
      const at = expiresAt - EXPIRING_MS;
      findings.push({ occasion: 'api_key_expiring', subject, about: id, episode: String(expiresAt), at });
    }
    before = nextCursor;
  } while (before !== undefined);
  return findings;
}

async function observeSigningKeys(
  { signingKeyStore }: ObserveContext,
  accountId: AccountId,
): Promise<readonly Finding[]> {
  const [newest] = (await signingKeyStore.find(accountId))?.keys ?? [];
  // The first key of an account replaces none.
  if (newest?.rotation === undefined) return [];
  const { kid, createdAt, signsFrom } = newest;
  const subject = { label: kid, detail: formatTime(signsFrom) };
  return [{ occasion: 'signing_key_rotated', subject, about: '', episode: kid, at: createdAt }];
}

/** Once a day at most, however many come. */
async function observeDeadLetters(
  { readNewestDeadLetter }: ObserveContext,
  accountId: AccountId,
): Promise<readonly Finding[]> {
  if (accountId !== DEFAULT_ACCOUNT) return [];
  const at = await readNewestDeadLetter();
  if (at === undefined) return [];
  const episode = String(Math.floor(at / DAY_MS));
  return [{ occasion: 'dead_letters', subject: { detail: formatTime(at) }, about: '', episode, at }];
}

import type { AccountQuota } from '../accounts/account-quota';
import type { ApiKeyStore } from '../accounts/redis-api-key-store';
import type { AccessTokenStore } from '../deliver/redis-access-token-store';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import type { Occasion, Subject } from '../domain/contact';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { type DisablePolicy, disabledFrom } from '../endpoints/disable';
import type { HealthStore } from '../endpoints/health/redis-health-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { summarizeCertificate } from '../endpoints/tls/certificate';
import {
  CERTIFICATE_EXPIRING_MS,
  type ReceiverCertificates,
} from '../endpoints/tls/redis-receiver-certificates';
import { type Clock, formatTime } from '../platform/clock';
import { followRate, hoursToRead, isLastingLow, type RatePolicy, type RateState } from './success-rate';

/** Something that contacts are told of, as long as it is so. */
export interface Finding {
  readonly occasion: Occasion;
  readonly subject: Subject;
  /** The subject within its occasion: the id of an endpoint or a key; empty: the account. */
  readonly about: string;
  /** Differs from one time that it happens to the next: each is told once. */
  readonly episode: string;
  /** Of an endpoint in trouble: only a later success proves that it works again. Milliseconds since the Unix epoch. */
  readonly since?: number;
  /** Since when it is so. Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface ObserverParts {
  readonly endpointStore: EndpointStore;
  readonly admissionStore: AdmissionStore;
  readonly healthStore: HealthStore;
  readonly accessTokenStore: AccessTokenStore;
  readonly receiverCertificates: ReceiverCertificates;
  readonly quota: AccountQuota;
  readonly apiKeyStore: ApiKeyStore;
  readonly signingKeyStore: SigningKeyStore;
  /** When the newest dead letter came; only operators are told. */
  readonly readNewestDeadLetter: () => Promise<number | undefined>;
  readonly disablePolicy: DisablePolicy | 'never';
  /** How long an endpoint fails before its contacts are told. */
  readonly failingAfterMs: number;
  readonly ratePolicy: RatePolicy;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A token URL has been asked several times by then, and the token before may still be valid. */
const TOKEN_FAILING_MS = 2 * 60_000;
/** Client certificates and API keys are announced so long before they expire. */
const EXPIRING_MS = 14 * DAY_MS;
const PAGE = 200;
/** Characters of a name that are kept: each message is stored for each contact. */
const MOST_NAMED = 100;

/** The state of an account, as far as contacts are told of it. */
export interface Observation {
  readonly findings: readonly Finding[];
  /** The endpoints that there are. */
  readonly endpointIds: ReadonlySet<string>;
  /** The share of their attempts that succeeds, of those that have failed lately. */
  readonly rates: ReadonlyMap<string, RateState>;
  readonly areRatesNew: boolean;
}

/** An account's endpoints, as the earlier checks found them. */
export interface Remembered {
  /** Endpoints of which contacts were told that they fail or are disabled → since when. */
  readonly troubles: ReadonlyMap<string, number>;
  readonly rates: ReadonlyMap<string, RateState>;
  /** Whether it is time to look at the rates again. */
  readonly areRatesDue: boolean;
}

/** All that contacts of the account may be told of at this moment. It reads and changes nothing. */
export async function observeAccount(
  parts: ObserverParts,
  accountId: AccountId,
  remembered: Remembered,
): Promise<Observation> {
  const [ofEndpoints, ofQuota, ofKeys, ofSigningKeys, ofDeadLetters] = await Promise.all([
    observeEndpoints(parts, accountId, remembered),
    observeQuota(parts, accountId),
    observeApiKeys(parts, accountId),
    observeSigningKeys(parts, accountId),
    observeDeadLetters(parts, accountId),
  ]);
  const findings = [ofEndpoints.findings, ofQuota, ofKeys, ofSigningKeys, ofDeadLetters].flat();
  return { ...ofEndpoints, findings };
}

async function observeEndpoints(
  parts: ObserverParts,
  accountId: AccountId,
  remembered: Remembered,
): Promise<Observation> {
  const findings: Finding[] = [];
  const endpointIds = new Set<string>();
  const rates = new Map<string, RateState>();
  const certificates = await parts.receiverCertificates.list();
  let before: EndpointId | undefined;
  do {
    const { endpoints, nextCursor } = await parts.endpointStore.list(accountId, PAGE, before);
    // The commands of a page go to Redis together.
    const found = await Promise.all(
      endpoints.map(async (endpoint) => {
        const rate = await rateOf(parts, endpoint, remembered);
        if (rate) rates.set(endpoint.id, rate);
        const troubledSince = remembered.troubles.get(endpoint.id);
        return await observeEndpoint(parts, endpoint, { troubledSince, rate, certificates });
      }),
    );
    findings.push(...found.flat());
    for (const { id } of endpoints) endpointIds.add(id);
    before = nextCursor;
  } while (before !== undefined);
  return { findings, endpointIds, rates, areRatesNew: remembered.areRatesDue };
}

async function rateOf(
  { healthStore, ratePolicy, clock }: ObserverParts,
  { id }: Endpoint,
  { rates, areRatesDue }: Remembered,
): Promise<RateState | undefined> {
  const former = rates.get(id);
  if (!areRatesDue) return former;
  const now = clock();
  const counts = await healthStore.readCounts(id, hoursToRead(former, now));
  return followRate(former, counts, now, ratePolicy);
}

interface KnownOfEndpoint {
  readonly troubledSince: number | undefined;
  readonly rate: RateState | undefined;
  /** Hosts of receivers whose certificates expire soon → when. */
  readonly certificates: ReadonlyMap<string, number>;
}

async function observeEndpoint(
  parts: ObserverParts,
  endpoint: Endpoint,
  known: KnownOfEndpoint,
): Promise<readonly Finding[]> {
  // Of a listener its user sees everything: it is a program of theirs that is connected.
  if (endpoint.listener) return [];
  const certificate = observeCertificate(endpoint, parts.clock());
  if (endpoint.status === 'disabled') return [...observeDisabled(endpoint), ...certificate];
  const [health, token] = await Promise.all([
    observeHealth(parts, endpoint, known),
    observeToken(parts, endpoint),
  ]);
  return [...health, ...token, ...certificate, ...observeReceiver(endpoint, known)];
}

function observeDisabled(endpoint: Endpoint): readonly Finding[] {
  const { disabledReason, enabledAt = endpoint.createdAt, updatedAt } = endpoint;
  // Its owner knows.
  if (disabledReason === undefined || disabledReason === 'client') return [];
  return [findingOf('disabled', endpoint, String(enabledAt), updatedAt, disabledReason)];
}

async function observeHealth(
  parts: ObserverParts,
  endpoint: Endpoint,
  { troubledSince, rate }: KnownOfEndpoint,
): Promise<readonly Finding[]> {
  const { failingSince, openUntil } = await parts.admissionStore.readBreaker(endpoint.id);
  const isLasting = failingSince !== undefined && failingSince + parts.failingAfterMs <= parts.clock();
  const disabling = isLasting ? await observeDisabling(parts, endpoint, failingSince) : [];
  // Without an open breaker so few have failed that it may be them.
  if (isLasting && openUntil !== 0) {
    const failing = failingOf(endpoint, failingSince, failingSince + parts.failingAfterMs);
    return [await withLastFailure(parts, failing, endpoint), ...disabling];
  }
  const { lowSince } = rate ?? {};
  if (rate && lowSince !== undefined) {
    // As long as it is so, a success among the failures does not mean that it works again.
    const { forMs } = parts.ratePolicy;
    const isLow = isLastingLow(rate, parts.ratePolicy);
    if (!isLow) return disabling;
    const failing = failingOf(endpoint, lowSince, lowSince + forMs);
    return [await withLastFailure(parts, failing, endpoint), ...disabling];
  }
  const isWell = failingSince === undefined && troubledSince !== undefined;
  return isWell ? await observeRecovery(parts, endpoint, troubledSince) : disabling;
}

// However it fails, it is told once from the time it was enabled until it works again.
function failingOf(endpoint: Endpoint, since: number, at: number): Finding {
  const { enabledAt = endpoint.createdAt } = endpoint;
  return { ...findingOf('failing', endpoint, String(enabledAt), at, formatTime(since)), since };
}

async function withLastFailure(
  { healthStore }: Pick<ObserverParts, 'healthStore'>,
  finding: Finding,
  { id }: Endpoint,
): Promise<Finding> {
  const attempt = (await healthStore.readLastFailure(id))?.attempt;
  if (attempt === undefined) return finding;
  const lastFailure = attempt.status === undefined ? attempt.outcome : `HTTP ${attempt.status}`;
  return { ...finding, subject: { ...finding.subject, lastFailure } };
}

/** Only a success proves it: an endpoint that was enabled again has not been tried yet. */
async function observeRecovery(
  { healthStore }: ObserverParts,
  endpoint: Endpoint,
  troubledSince: number,
): Promise<readonly Finding[]> {
  const { id, enabledAt = endpoint.createdAt } = endpoint;
  const lastSuccessAt = await healthStore.readLastSuccess(id);
  if (lastSuccessAt === undefined || lastSuccessAt <= Math.max(troubledSince, enabledAt)) return [];
  return [findingOf('recovered', endpoint, String(troubledSince), lastSuccessAt, formatTime(lastSuccessAt))];
}

async function observeDisabling(
  { healthStore, disablePolicy, clock }: ObserverParts,
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
  const disabling = findingOf(occasion, endpoint, String(failingSince), at, formatTime(disabledAt));
  return [await withLastFailure({ healthStore }, disabling, endpoint)];
}

function observeCertificate(endpoint: Endpoint, now: number): readonly Finding[] {
  const pem = endpoint.tls?.certificate;
  if (pem === undefined) return [];
  const { expiresAt } = summarizeCertificate(pem);
  if (expiresAt - now > EXPIRING_MS) return [];
  const at = expiresAt - EXPIRING_MS;
  return [findingOf('certificate_expiring', endpoint, String(expiresAt), at, formatTime(expiresAt))];
}

/** Its certificate, as deliveries saw it last. */
function observeReceiver(endpoint: Endpoint, { certificates }: KnownOfEndpoint): readonly Finding[] {
  const { protocol, hostname } = new URL(endpoint.url);
  const expiresAt = protocol === 'https:' ? certificates.get(hostname) : undefined;
  if (expiresAt === undefined) return [];
  const at = expiresAt - CERTIFICATE_EXPIRING_MS;
  const detail = formatTime(expiresAt);
  return [findingOf('receiver_certificate_expiring', endpoint, String(expiresAt), at, detail)];
}

async function observeToken(
  { accessTokenStore, clock }: ObserverParts,
  endpoint: Endpoint,
): Promise<readonly Finding[]> {
  if (endpoint.auth?.type !== 'oauth2') return [];
  const since = await accessTokenStore.readFailingSince(endpoint.id);
  if (since === undefined || since + TOKEN_FAILING_MS > clock()) return [];
  return [findingOf('token_failing', endpoint, String(since), since + TOKEN_FAILING_MS, formatTime(since))];
}

function findingOf(
  occasion: Occasion,
  { id, url, description, uid }: Endpoint,
  episode: string,
  at: number,
  detail: string,
): Finding {
  const name = description ?? uid;
  return {
    occasion,
    // Of the URL nothing but the host: a path or a query may be as good as a password.
    subject: {
      endpointId: id,
      ...(name === undefined ? {} : { name: name.slice(0, MOST_NAMED) }),
      label: new URL(url).host,
      detail,
    },
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
  { quota, clock }: ObserverParts,
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

async function observeApiKeys(parts: ObserverParts, accountId: AccountId): Promise<readonly Finding[]> {
  const { apiKeyStore, clock } = parts;
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
  { signingKeyStore }: ObserverParts,
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
  { readNewestDeadLetter }: ObserverParts,
  accountId: AccountId,
): Promise<readonly Finding[]> {
  if (accountId !== DEFAULT_ACCOUNT) return [];
  const at = await readNewestDeadLetter();
  if (at === undefined) return [];
  const episode = String(Math.floor(at / DAY_MS));
  return [{ occasion: 'dead_letters', subject: { detail: formatTime(at) }, about: '', episode, at }];
}

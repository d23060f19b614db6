import type { AccountStore } from '../../accounts/redis-account-store';
import type { AccountId } from '../../domain/account';
import { type Endpoint, newestSecret } from '../../domain/endpoint';
import {
  type EndpointVerification,
  lacksProof,
  type Verification,
  type VerificationError,
  type VerificationMethod,
} from '../../domain/verification';
import { AppError, invalidRequest } from '../../platform/app-error';
import { updateTime } from '../disable';

/** A change of an endpoint's record may take this long. */
export const CHANGE_MS = 3_000;

export interface VerificationSettings {
  /** For accounts without a setting of their own. */
  readonly ENDPOINT_VERIFICATION: EndpointVerification;
  /** Names this service to receivers that are asked for permission. `undefined`: they can't be asked. */
  readonly WEBHOOK_REQUEST_ORIGIN?: string | undefined;
}

/** Whether new and changed endpoints have to be verified, and unverified ones get nothing. */
export class VerificationPolicy {
  constructor(
    private readonly accountStore: AccountStore,
    private readonly settings: VerificationSettings,
  ) {}

  get requestOrigin(): string | undefined {
    return this.settings.WEBHOOK_REQUEST_ORIGIN;
  }

  /**
   * @param method as a client says it, if it does.
   * @throws AppError `invalid_request` for one that this service does not have.
   */
  async demandOf(accountId: AccountId, method: VerificationMethod | undefined): Promise<VerificationDemand> {
    if (method === 'cloudevents' && this.requestOrigin === undefined) throw withoutOrigin();
    return { method, isRequired: await this.isRequired(accountId) };
  }

  async isRequired(accountId: AccountId): Promise<boolean> {
    const account = await this.accountStore.find(accountId);
    return (account?.endpointVerification ?? this.settings.ENDPOINT_VERIFICATION) === 'required';
  }

  /** Whether it gets nothing now. Reads nothing for one that was never asked, or is verified. */
  async isWaiting(endpoint: Endpoint): Promise<boolean> {
    if (!lacksProof(endpoint)) return false;
    return endpoint.verification?.isWished === true || (await this.isRequired(endpoint.accountId));
  }
}

function withoutOrigin(): AppError {
  const detail = 'is not possible here: the operator has set no WEBHOOK_REQUEST_ORIGIN';
  return invalidRequest([{ pointer: '/verification', detail }]);
}

/** The client's wish for verification, if any, and whether the operator demands it. */
export interface VerificationDemand {
  readonly method: VerificationMethod | undefined;
  readonly isRequired: boolean;
}

/**
 * An endpoint after a change of what its receiver has to prove: its URL, the URL of its access tokens, its newest secret, or how it proves it. The
 * proof of before counts for nothing then.
 *
 * Nobody demands one of an endpoint whose client did not name a method while the operator requires none. One that was asked before is asked again
 * whatever is required now: otherwise its URL could be changed while nothing is required, and stay verified.
 */
export function withVerification(
  before: Endpoint | undefined,
  after: Endpoint,
  { method, isRequired }: VerificationDemand,
  now: number,
): Endpoint {
  const { verification, ...rest } = after;
  if (after.listener) return rest;
  const known = verification?.method;
  const isSame = before !== undefined && isSameReceiver(before, after) && (method ?? known) === known;
  const isWished = method !== undefined || verification?.isWished === true;
  const having = (proof: Verification): Endpoint => ({
    ...after,
    verification: isWished ? { ...proof, isWished } : proof,
  });
  if (isSame) return withinAllowedRate(verification ? having(verification) : after);
  if (!isRequired && method === undefined && verification === undefined) return after;
  return having(begun(verification, method ?? known ?? 'challenge', now));
}

/** Whether a proof that one has given holds for the other. */
function isSameReceiver(one: Endpoint, other: Endpoint): boolean {
  const tokenUrl = tokenUrlOf(other);
  return (
    one.url === other.url &&
    newestSecret(one).secret === newestSecret(other).secret &&
    (tokenUrl === undefined || tokenUrl === tokenUrlOf(one))
  );
}

/** It gets requests as the receiver does, and there is no challenge without its answer. */
function tokenUrlOf({ auth }: Endpoint): string | undefined {
  return auth?.type === 'oauth2' ? auth.tokenUrl : undefined;
}

function begun(before: Verification | undefined, method: VerificationMethod, now: number): Verification {
  return { method, status: 'unverified', round: (before?.round ?? 0) + 1, tries: 0, nextTryAt: now };
}

// From the end of a try to the next one, of those that nobody has to ask for.
const WAITS_MS = [60_000, 600_000] as const;

/** How many tries there are before somebody has to ask for one. */
const AUTOMATIC_TRIES = WAITS_MS.length + 1;

/** How a try ended. */
export type TryResult =
  | {
      readonly kind: 'verified';
      /** The requests a minute that the receiver permits; absent: as many as we like. */
      readonly allowedRate?: number | undefined;
    }
  | { readonly kind: 'failed'; readonly error: VerificationError };

/**
 * The endpoint after a try; `undefined` if the try says nothing of it: what is to be proved has changed since, or
 * another process has made the same try.
 */
export function afterTry(
  endpoint: Endpoint,
  tried: Verification,
  result: TryResult,
  now: number,
): Endpoint | undefined {
  const { verification } = endpoint;
  if (verification === undefined || !isSameTry(verification, tried)) return undefined;
  const { method, round, isWished } = verification;
  const kept = { method, round, ...(isWished ? { isWished } : {}) };
  const tries = verification.tries + 1;
  const updatedAt = updateTime(endpoint, now);
  if (result.kind === 'verified') {
    const { allowedRate } = result;
    const rate = allowedRate === undefined ? {} : { allowedRate };
    const verified: Verification = { ...kept, status: 'verified', tries, verifiedAt: now, ...rate };
    return withinAllowedRate({ ...endpoint, verification: verified, updatedAt });
  }
  const waitMs = WAITS_MS[verification.tries];
  const next =
    waitMs === undefined
      ? ({ status: 'failed' } as const)
      : ({ status: 'pending', nextTryAt: now + waitMs } as const);
  return { ...endpoint, verification: { ...kept, tries, ...next, error: result.error }, updatedAt };
}

function isSameTry(one: Verification, other: Verification): boolean {
  return lacksProof({ verification: one }) && one.round === other.round && one.tries === other.tries;
}

/**
 * The endpoint, with one more try due now. It is the last one: the next has to be asked for as well.
 *
 * @throws AppError `conflict` when there is nothing to verify, or it is disabled.
 */
export function withAnotherTry(endpoint: Endpoint, now: number): Endpoint {
  const { verification, status } = endpoint;
  if (verification === undefined || !lacksProof(endpoint)) {
    throw new AppError(
      'conflict',
      'This webhook is verified. It has to be verified again only when its "url", its token URL or its secret changes.',
    );
  }
  if (status === 'disabled') {
    throw new AppError('conflict', 'This webhook is disabled, and nothing is sent to it. Enable it first.');
  }
  const { error: _error, ...rest } = verification;
  const tries = Math.max(verification.tries, AUTOMATIC_TRIES - 1);
  const asked: Verification = { ...rest, status: 'pending', tries, nextTryAt: now };
  return { ...endpoint, verification: asked, updatedAt: updateTime(endpoint, now) };
}

const SECONDS_A_MINUTE = 60;

/** The lowest rate that can be kept, in requests a minute: a rate limit is at least one request a second. */
export const MIN_ALLOWED_RATE = SECONDS_A_MINUTE;

/** A rate limit that its receiver has set stays as it is unless a lower one is wanted. */
function withinAllowedRate(endpoint: Endpoint): Endpoint {
  const { allowedRate } = endpoint.verification ?? {};
  if (allowedRate === undefined) return endpoint;
  const perSecond = Math.floor(allowedRate / SECONDS_A_MINUTE);
  if (endpoint.rateLimit !== undefined && endpoint.rateLimit <= perSecond) return endpoint;
  return { ...endpoint, rateLimit: perSecond };
}

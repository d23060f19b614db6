import type { Allowance } from '../kernel/allowance';
import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import { type ApiKey, hashKey } from '../model/api-key';
import { AuthFailures } from './auth-failures';
import { type Authenticate, keyIn } from './authenticate';

export interface LimitAuthFailuresDeps {
  readonly authenticate: Authenticate;
  readonly allowance: Allowance;
  readonly clock: Clock;
}

export type AuthenticateClient = (
  authorization: string | undefined,
  clientAddress: string | undefined,
) => Promise<ApiKey>;

const REMEMBERED_KEYS = 10_000;

/**
 * Authenticates, but refuses whoever failed too often of late before anything is looked up, whatever key it names. Each
 * process counts for itself. Who has the whole of a key that it has seen to be good passes all the same, or one broken
 * client could lock out all that share its address: those behind the same NAT, or behind a proxy that we were not told of.
 *
 * @throws AppError `rate_limited`, and what `authenticate` throws.
 */
export function createLimitAuthFailures({
  authenticate,
  allowance,
  clock,
}: LimitAuthFailuresDeps): AuthenticateClient {
  const failures = new AuthFailures({ allowance, clock });
  /** By the hash of the whole key: its id alone is no secret. */
  const goodKeys = createLru<string, true>(REMEMBERED_KEYS);

  return async (authorization, clientAddress) => {
    refuseBlocked(authorization, clientAddress);
    try {
      const apiKey = await authenticate(authorization);
      goodKeys.set(apiKey.sha256, true);
      return apiKey;
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') note(authorization, clientAddress);
      throw error;
    }
  };

  function refuseBlocked(authorization: string | undefined, clientAddress: string | undefined): void {
    const blockedForMs = failures.blockedForMs(clientAddress);
    if (blockedForMs === 0 || goodKeys.has(hashOf(authorization))) return;
    throw new AppError('rate_limited', 'Too many requests from your address had no valid API key.', {
      retryAfterMs: blockedForMs,
    });
  }

  // A key that was good, and is revoked or has expired, is none that passes.
  function note(authorization: string | undefined, clientAddress: string | undefined): void {
    goodKeys.delete(hashOf(authorization));
    failures.note(clientAddress);
  }
}

function hashOf(authorization: string | undefined): string {
  return hashKey(keyIn(authorization) ?? '');
}

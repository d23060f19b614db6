import { AppError } from '../kernel/app-error';
import { createLru } from '../kernel/lru';
import { hashKey } from '../model/api-key';
import type { Principal } from '../model/principal';
import type { AuthFailures } from './auth-failures';
import { type Authenticate, keyIn } from './authenticate';

export interface LimitAuthFailuresDeps {
  readonly authenticate: Authenticate;
  readonly failures: AuthFailures;
}

export type AuthenticateClient = (
  authorization: string | undefined,
  clientAddress: string | undefined,
) => Promise<Principal>;

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
  failures,
}: LimitAuthFailuresDeps): AuthenticateClient {
  /** By the hash of the whole key: its id alone is no secret. */
  const goodKeys = createLru<string, true>(REMEMBERED_KEYS);

  return async (authorization, clientAddress) => {
    refuseBlocked(authorization, clientAddress);
    try {
      const principal = await authenticate(authorization);
      goodKeys.set(principal.sha256, true);
      return principal;
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') note(authorization, clientAddress);
      throw error;
    }
  };

  function refuseBlocked(authorization: string | undefined, clientAddress: string | undefined): void {
    if (failures.blockedForMs(clientAddress) === 0 || goodKeys.has(hashOf(authorization))) return;
    failures.refuseBlocked(clientAddress);
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

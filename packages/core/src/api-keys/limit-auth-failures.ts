import { LRUCache } from 'lru-cache';
import type { Allowance } from '../config/allowance';
import { AppError } from '../errors/app-error';
import type { Clock } from '../runtime/clock';
import type { ApiKey } from './api-key';
import { idOfKey } from './api-key';
import { type Authenticate, keyIn } from './authenticate';
import { clientNetworkOf } from './client-network';

export interface LimitAuthFailuresDeps {
  readonly authenticate: Authenticate;
  readonly allowance: Allowance;
  readonly clock: Clock;
}

export type AuthenticateClient = (
  authorization: string | undefined,
  clientAddress: string | undefined,
) => Promise<ApiKey>;

interface Failures {
  count: number;
  readonly endsAt: number;
}

const WATCHED_NETWORKS = 10_000;
const REMEMBERED_KEYS = 10_000;

/**
 * Authenticates, but refuses whoever failed too often of late before anything is looked up. Each process counts
 * for itself. Keys that it has seen to be good pass all the same, or one broken client could lock out all that
 * share its address: those behind the same NAT, or behind a proxy that we were not told of.
 *
 * @throws AppError `rate_limited`, and what `authenticate` throws.
 */
export function createLimitAuthFailures({
  authenticate,
  allowance,
  clock,
}: LimitAuthFailuresDeps): AuthenticateClient {
  const failuresOf = new LRUCache<string, Failures>({ max: WATCHED_NETWORKS });
  const goodKeyIds = new LRUCache<string, true>({ max: REMEMBERED_KEYS });

  return async (authorization, clientAddress) => {
    refuseBlocked(authorization, clientAddress);
    try {
      const apiKey = await authenticate(authorization);
      goodKeyIds.set(apiKey.id, true);
      return apiKey;
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') note(clientNetworkOf(clientAddress));
      throw error;
    }
  };

  function refuseBlocked(authorization: string | undefined, clientAddress: string | undefined): void {
    // Spares the usual request all of this.
    if (failuresOf.size === 0) return;
    const failures = failuresOf.get(clientNetworkOf(clientAddress));
    if (failures === undefined || failures.count < allowance.count) return;
    const blockedForMs = failures.endsAt - clock();
    if (blockedForMs <= 0 || isGood(authorization)) return;
    throw new AppError('rate_limited', 'Too many requests from your address had no valid API key.', {
      retryAfterMs: blockedForMs,
    });
  }

  function isGood(authorization: string | undefined): boolean {
    const id = idOfKey(keyIn(authorization) ?? '');
    return id !== undefined && goodKeyIds.has(id);
  }

  function note(network: string): void {
    const now = clock();
    const failures = failuresOf.get(network);
    if (failures && now < failures.endsAt) failures.count += 1;
    else failuresOf.set(network, { count: 1, endsAt: now + allowance.windowMs });
  }
}

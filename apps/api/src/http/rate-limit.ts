import type { LimitRate, RateStanding } from '@hookferry/core/accounts/limit-rate';
import type { Principal } from '@hookferry/core/domain/account';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Response } from 'express';

const EXHAUSTED: Readonly<Record<RateStanding['limitOf'], string>> = {
  key: 'This API key asked for more than it may; slow down.',
  account: 'The API keys of this account asked for more together than they may; slow down.',
};

/** Counts so much more of what the request asks for. */
export type Spend = (points: number) => Promise<void>;

/**
 * Counts a request of this key, and what it asks for beyond that, and tells its client how it stands
 * (draft-ietf-httpapi-ratelimit-headers-10): of the two limits, the key's and its account's, by the one that leaves less.
 */
export function createSpend(apiKey: Principal, limitRate: LimitRate, response: Response): Spend {
  /** @throws AppError `rate_limited` when it was too much. */
  return async function spend(points) {
    const standing = await limitRate(apiKey, points);
    if (!standing) return;
    const { allowance, isWithin, limitOf, remaining, resetsInMs } = standing;
    const { count, windowMs } = allowance;
    response.setHeader('ratelimit-policy', `"default";q=${count};w=${windowMs / 1_000}`);
    response.setHeader('ratelimit', `"default";r=${remaining};t=${Math.ceil(resetsInMs / 1_000)}`);
    if (!isWithin) throw new AppError('rate_limited', EXHAUSTED[limitOf], { retryAfterMs: resetsInMs });
  };
}

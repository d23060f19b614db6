import type { ApiKey } from '@webhooks/core/api-keys/api-key';
import type { Allowance } from '@webhooks/core/config/allowance';
import { AppError } from '@webhooks/core/errors/app-error';
import type { LimitRate } from '@webhooks/core/rate-limit/limit-rate';
import type { Response } from 'express';

export interface RateLimit {
  readonly allowance: Allowance;
  readonly limitRate: LimitRate;
}

/**
 * Counts a request of this key, and tells its client how it stands (draft-ietf-httpapi-ratelimit-headers-10).
 *
 * @throws AppError `rate_limited` when it was one too many.
 */
export async function spendOne(
  apiKey: ApiKey,
  { allowance: { count, windowMs }, limitRate }: RateLimit,
  response: Response,
): Promise<void> {
  const { isWithin, remaining, resetsInMs } = await limitRate(apiKey.id);
  response.setHeader('ratelimit-policy', `"default";q=${count};w=${windowMs / 1_000}`);
  response.setHeader('ratelimit', `"default";r=${remaining};t=${Math.ceil(resetsInMs / 1_000)}`);
  if (isWithin) return;
  throw new AppError('rate_limited', 'This API key made more requests than it may; slow down.', {
    retryAfterMs: resetsInMs,
  });
}

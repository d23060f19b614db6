import { Authentication, type AuthenticationParts } from '../accounts/authentication';
import { AccountStore } from '../accounts/redis-account-store';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import { PortalSessionStore } from '../accounts/redis-portal-session-store';
import { systemClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';

/** Authentication by the keys and sessions in this Redis. Failures are not limited, unless `change` says otherwise. */
export function openAuthentication(
  redis: RedisClient,
  change: Partial<AuthenticationParts> = {},
): Authentication {
  return new Authentication({
    apiKeyStore: new ApiKeyStore(redis),
    portalSessionStore: new PortalSessionStore(redis),
    accountStore: new AccountStore(redis),
    clock: systemClock,
    ...change,
  });
}

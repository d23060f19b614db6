import {
  AuthFailures,
  createLimitAuthFailures,
  createLimitExchanges,
} from '@hookferry/core/accounts/auth-failures';
import {
  createAuthenticate,
  createAuthenticateSession,
  createNoteUse,
  createRequireLiveSession,
} from '@hookferry/core/accounts/authenticate';
import { createExchangeCode } from '@hookferry/core/accounts/portal-sessions';
import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { createRedisPortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import type { Clock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { ApiConfig } from './config';

/** Who is let in: by an API key or a session's token, or with a code that is exchanged for one; `recheck`: who would be still. */
export function composeDoor({ AUTH_FAILURE_LIMIT: allowance }: ApiConfig, redis: RedisClient, clock: Clock) {
  const apiKeyStore = createRedisApiKeyStore(redis);
  const portalSessionStore = createRedisPortalSessionStore(redis);
  const requireLiveSession = createRequireLiveSession({ apiKeyStore, clock });
  const sessions = { portalSessionStore, requireLiveSession, clock };
  const authenticate = createAuthenticate({
    apiKeyStore,
    noteUse: createNoteUse(apiKeyStore, clock),
    authenticateSession: createAuthenticateSession(sessions),
    clock,
  });
  const exchangeCode = createExchangeCode(sessions);
  if (!allowance) return { authenticate, recheck: authenticate, exchangeCode };
  const failures = new AuthFailures({ allowance, clock });
  return {
    authenticate: createLimitAuthFailures({ authenticate, failures }),
    recheck: authenticate,
    exchangeCode: createLimitExchanges(exchangeCode, failures),
  };
}

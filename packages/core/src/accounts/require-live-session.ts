import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import type { PortalSession } from '../model/portal-session';
import type { ApiKeyStore } from './redis-api-key-store';

export interface RequireLiveSessionDeps {
  readonly apiKeyStore: Pick<ApiKeyStore, 'find'>;
  readonly clock: Clock;
}

/**
 * A session is never more than the API key that it was made with: it ends with that, be it revoked or expired. So whoever
 * revokes a key that was lost is rid of all that was made with it.
 *
 * @throws AppError `unauthenticated`.
 */
export function createRequireLiveSession({ apiKeyStore, clock }: RequireLiveSessionDeps) {
  return async function requireLiveSession({ apiKeyId, expiresAt }: PortalSession): Promise<void> {
    if (expiresAt > clock()) {
      const apiKey = await apiKeyStore.find(apiKeyId);
      if (apiKey && (apiKey.expiresAt ?? Number.POSITIVE_INFINITY) > clock()) return;
    }
    throw sessionEnded();
  };
}

export type RequireLiveSession = ReturnType<typeof createRequireLiveSession>;

export function sessionEnded(): AppError {
  return new AppError('unauthenticated', 'The portal session has ended; ask for a new link.');
}

import type { AuthenticateContext } from '../accounts/authenticate';

/**
 * For tests that have to do with API keys alone: there are no portal sessions, and nothing notes that a key
 * was used.
 */
export const noSessions: Pick<AuthenticateContext, 'portalSessionStore' | 'keyUses'> = {
  portalSessionStore: {
    async find() {
      throw new Error('There are no portal sessions here.');
    },
  },
  keyUses: { note: () => {} },
};

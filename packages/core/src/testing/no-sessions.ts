import type { AuthenticateSession } from '../accounts/authenticate';

/** For what has to do with API keys alone. */
export const noSessions: AuthenticateSession = async () => {
  throw new Error('There are no portal sessions here.');
};

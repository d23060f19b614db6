import type { DeliverContext } from '../deliver/end-run';

/** For endpoints that need no access token. */
export const noTokens: DeliverContext['accessTokens'] = {
  find: async () => ({ kind: 'interrupted' }),
  refuse: async () => {},
};

import type { DeliverContext } from '../deliver/deliver';

/** For endpoints that need no access token. */
export const noTokens: DeliverContext['accessTokens'] = {
  find: async () => ({ kind: 'interrupted' }),
  refuse: async () => {},
};

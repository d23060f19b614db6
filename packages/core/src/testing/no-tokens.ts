import type { AccessTokens } from '../deliver/access-tokens';
import { fake } from './fake';

/** For endpoints that need no access token. */
export const noTokens = fake<AccessTokens>({
  find: async () => ({ kind: 'interrupted' }),
  refuse: async () => {},
});

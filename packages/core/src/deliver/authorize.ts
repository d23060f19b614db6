import type { TokenVersion } from '../domain/access-token';
import type { Endpoint } from '../domain/endpoint';
import type { OAuth2, ReceiverAuth } from '../domain/receiver-auth';
import { authKinds } from '../domain/receiver-auth/kinds';
import type { AccessTokens, FoundToken } from './access-tokens';
import type { TokenFailure } from './fetch-token';

export type Authorization =
  | {
      readonly kind: 'authorized';
      /** The value of `Authorization`. */
      readonly header: string;
      /** Of the access token in it. */
      readonly version?: TokenVersion;
      /** When that expires. Milliseconds since the Unix epoch. */
      readonly expiresAt?: number;
      /** Whether a process had to be waited for that has it. */
      readonly wasAwaited?: boolean | undefined;
    }
  /** The token URL gave no token: this is an attempt that failed. */
  | { readonly kind: 'failed'; readonly failure: TokenFailure }
  | Exclude<FoundToken, { kind: 'token' | 'failed' }>;

/** The value of `Authorization` for an endpoint. Most endpoints need none. */
export async function authorize(
  accessTokens: AccessTokens,
  endpoint: Endpoint,
  abortSignal: AbortSignal,
): Promise<Authorization | undefined> {
  const { auth } = endpoint;
  if (auth === undefined) return undefined;
  if (auth.type !== 'oauth2') return { kind: 'authorized', header: headerOf(auth) };
  const found = await accessTokens.find({ ...endpoint, auth }, abortSignal);
  if (found.kind !== 'token') return found;
  const { token, version, expiresAt } = found.token;
  return { kind: 'authorized', header: `Bearer ${token}`, version, expiresAt, wasAwaited: found.wasAwaited };
}

type FixedAuth = Exclude<ReceiverAuth, OAuth2>;

function headerOf(auth: FixedAuth): string {
  // Each takes the members of its own kind.
  const header = authKinds[auth.type].header as (auth: FixedAuth) => string;
  return header(auth);
}

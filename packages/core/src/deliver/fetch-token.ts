import { createPrivateKey, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TransportFailure } from '../domain/attempt';
import type { Endpoint } from '../domain/endpoint';
import { type OAuth2, type TokenErrorCode, tokenErrorCodes } from '../domain/receiver-auth';
import type { DeliveryRequest, SentResult, Transport } from '../domain/transport';
import type { Clock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import { parseRetryAfter } from './retry-after';

/** How tokens are asked for. */
export interface TokenRequestParts {
  readonly transport: Transport;
  readonly userAgent: string;
  /** For an endpoint without a time-out of its own. Milliseconds. */
  readonly attemptTimeoutMs: number;
  readonly clock: Clock;
}

export type FetchedToken =
  | {
      readonly kind: 'token';
      readonly token: string;
      /** How long the token is valid from when it was asked for, if the server said so. Milliseconds. */
      readonly lifetimeMs: number;
    }
  | { readonly kind: 'failed'; readonly failure: TokenFailure; readonly retryAfterMs: number }
  /** Not sent. The authorization server is not the cause. */
  | { readonly kind: 'unsent'; readonly error: string };

/** Why there is no token. Of the answer's body it has only a code of a closed list. */
export interface TokenFailure {
  readonly reason: TransportFailure | 'refused' | 'unreadable' | 'expired';
  /** Of the answer, if there was one. */
  readonly status?: number | undefined;
  readonly code?: TokenErrorCode | undefined;
}

/** An endpoint that gets its tokens from an authorization server. */
export type OAuth2Endpoint = Pick<Endpoint, 'id' | 'accountId' | 'tls' | 'timeoutMs' | 'verification'> & {
  readonly auth: OAuth2;
};

// An answer has a token of a few KiB. Of a longer one the rest is not read.
const RESPONSE_BYTES = 64 * 1024;
const MAX_TOKEN_TIMEOUT_MS = 10_000;

/** How long a token request may take in all. Milliseconds. */
export function tokenTimeoutOf({ timeoutMs }: Pick<Endpoint, 'timeoutMs'>, attemptTimeoutMs: number): number {
  return Math.min(timeoutMs ?? attemptTimeoutMs, MAX_TOKEN_TIMEOUT_MS);
}

/**
 * Ask for a token by client credentials (RFC 6749, 4.4). The request has the same limits as every delivery: to allowed
 * addresses only, without redirects, by the endpoint's own TLS, and for a bounded time and size.
 */
export async function fetchToken(
  parts: TokenRequestParts,
  endpoint: OAuth2Endpoint,
  abortSignal: AbortSignal,
): Promise<FetchedToken> {
  const result = await parts.transport(await requestFor(parts, endpoint), abortSignal);
  if (result.kind === 'unsent') return result;
  const token = readToken(result);
  if (token !== undefined) return token;
  const retryAfter = result.kind === 'responded' ? result.retryAfter : undefined;
  return {
    kind: 'failed',
    failure: failureOf(result),
    retryAfterMs: parseRetryAfter(retryAfter, parts.clock()),
  };
}

async function requestFor(parts: TokenRequestParts, endpoint: OAuth2Endpoint): Promise<DeliveryRequest> {
  const { auth, tls } = endpoint;
  const { tokenUrl, scope, audience } = auth;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) form.set('scope', scope);
  if (audience !== undefined) form.set('audience', audience);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': parts.userAgent,
  };
  if (auth.privateKey === undefined) headers.authorization = basicOf(auth);
  else await addAssertion(form, parts, auth, auth.privateKey);
  return {
    url: tokenUrl,
    headers,
    body: form.toString(),
    timeoutMs: tokenTimeoutOf(endpoint, parts.attemptTimeoutMs),
    responseBytes: RESPONSE_BYTES,
    ...(tls === undefined ? {} : { tls }),
  };
}

// RFC 6749, 2.3.1: both are encoded as in a form first, so that neither has a colon.
function basicOf({ clientId, clientSecret = '' }: OAuth2): string {
  const credentials = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
// Long enough for a clock that is somewhat off.
const ASSERTION_S = 120;

// RFC 7523. Each is used once: its `jti` is its own.
async function addAssertion(
  form: URLSearchParams,
  { clock }: TokenRequestParts,
  { clientId, tokenUrl, algorithm = 'RS256', keyId }: OAuth2,
  pem: string,
): Promise<void> {
  const issuedAt = Math.floor(clock() / 1_000);
  // On first use: few endpoints need it.
  const { SignJWT } = await import('jose');
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(tokenUrl)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ASSERTION_S)
    .sign(createPrivateKey(pem));
  form.set('client_id', clientId);
  form.set('client_assertion_type', ASSERTION_TYPE);
  form.set('client_assertion', assertion);
}

// At most as long as servers accept headers, and without white space, because it becomes the value of a header.
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

const grantSchema = z.object({
  access_token: z.string().regex(TOKEN),
  token_type: z.string().regex(/^bearer$/i),
  // Some servers write it as a text.
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});

/** For a token without a stated lifetime. */
const DEFAULT_LIFETIME_MS = 5 * 60_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;

function readToken(result: SentResult): Extract<FetchedToken, { kind: 'token' }> | undefined {
  if (result.kind === 'failed' || result.status !== 200) return undefined;
  const { success, data } = grantSchema.safeParse(parsedOrUndefined(result.body));
  if (!success) return undefined;
  const { access_token: token, expires_in: seconds } = data;
  const lifetimeMs = seconds === undefined ? DEFAULT_LIFETIME_MS : seconds * 1_000;
  return { kind: 'token', token, lifetimeMs: Math.min(lifetimeMs, MAX_LIFETIME_MS) };
}

const refusalSchema = z.object({ error: z.enum(tokenErrorCodes) });

function failureOf(result: SentResult): TokenFailure {
  if (result.kind === 'failed') return { reason: result.reason };
  const { status, body } = result;
  if (status === 200) return { reason: 'unreadable', status };
  const { data } = refusalSchema.safeParse(parsedOrUndefined(body));
  return { reason: 'refused', status, code: data?.error };
}

/** A failure in words, for readers of the attempt. */
export function describeTokenFailure({ reason, status, code }: TokenFailure): string {
  if (status === undefined) return `No access token: the request to the token URL ended with ${reason}.`;
  if (reason === 'expired')
    return 'No access token: the one that the token URL gave had expired when it came.';
  if (reason === 'unreadable') {
    return `No access token: the token URL responded with ${status}, but not with a bearer token in JSON of at most 64 KiB.`;
  }
  const named = code === undefined ? '' : ` (${code})`;
  return `No access token: the token URL responded with ${status}${named}.`;
}

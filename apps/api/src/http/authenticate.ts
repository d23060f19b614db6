import { type AuthenticateClientContext, authenticateClient } from '@hookferry/core/accounts/auth-failures';
import { keyIn } from '@hookferry/core/accounts/authenticate';
import type { RateLimit, RateStanding } from '@hookferry/core/accounts/limit-rate';
import {
  type KnownAccounts,
  type ResolveAccountContext,
  requireOperator,
  resolveAccount,
} from '@hookferry/core/accounts/resolve-account';
import { type AccountId, maySeeSecrets, type Principal, type Scope } from '@hookferry/core/domain/account';
import type { EndpointsVersion, Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Request, Response } from 'express';
import { requestStateOf } from './request-state';
import type { Route } from './route';

interface AdmitContext extends SpendContext, ResolveAccountContext, AuthenticateClientContext {
  readonly knownAccounts: KnownAccounts;
  readonly subscriptions: Pick<Subscriptions, 'readVersion'>;
}

type GuardedRoute = Pick<Route, 'scope' | 'operatorOnly' | 'handlesSecret' | 'stores'>;

/** Let only requests pass whose API key, or portal session, may use the route, and note the account. */
export async function admit(
  context: AdmitContext,
  { scope, operatorOnly, handlesSecret, stores }: GuardedRoute,
  request: Request,
  response: Response,
): Promise<void> {
  const state = requestStateOf(response);
  const { authorization } = request.headers;
  // Publishing needs it next: it is read together with the key, which saves a round trip.
  const early = stores === 'event' ? readEarly(context, authorization) : undefined;
  const apiKey = await authenticateClient(context, authorization, request.ip);
  context.knownAccounts.note(apiKey);
  // Only now: a client that knows the id of a key, but not the key, must not use up its requests.
  state.spender = apiKey;
  await spend(context, response, 1);
  if (scope !== 'any' && scope !== 'none') requireScope(apiKey, scope);
  if (handlesSecret) requireSecrets(apiKey);
  if (operatorOnly) requireOperator(apiKey);
  state.apiKey = await resolveAccount(context, apiKey, request.get('x-account-id'));
  if (stores !== 'event') return;
  const { accountId } = state.apiKey;
  state.endpointsVersion = early?.accountId === accountId ? early.version : readVersion(context, accountId);
}

function readEarly(context: AdmitContext, authorization: string | undefined) {
  const accountId = context.knownAccounts.of(authorization);
  return accountId === undefined ? undefined : { accountId, version: readVersion(context, accountId) };
}

function readVersion({ subscriptions }: AdmitContext, accountId: AccountId): Promise<EndpointsVersion> {
  const version = subscriptions.readVersion(accountId);
  // Its user gets the failure. A refused request does not need it any more.
  version.catch(() => {});
  return version;
}

/** The key, or token, as the client sent it. It is stored nowhere. */
export function presentedKeyOf(request: Request): string {
  return keyIn(request.headers.authorization) ?? '';
}

interface SpendContext {
  readonly rateLimit: Pick<RateLimit, 'spend'>;
}

const EXHAUSTED: Readonly<Record<RateStanding['limitOf'], string>> = {
  key: 'This API key asked for more than it may; slow down.',
  account: 'The API keys of this account asked for more together than they may; slow down.',
};

/**
 * Count further points for the key of a request, and tell the client its standing
 * (draft-ietf-httpapi-ratelimit-headers-10): of the two limits, the key's and its account's, the one that
 * leaves less.
 *
 * @throws AppError `rate_limited` when it was too much.
 */
export async function spend({ rateLimit }: SpendContext, response: Response, points: number): Promise<void> {
  const { spender } = requestStateOf(response);
  const standing = spender && (await rateLimit.spend(spender, points));
  if (!standing) return;
  const { allowance, isWithin, limitOf, remaining, resetsInMs } = standing;
  const { count, windowMs } = allowance;
  response.setHeader('ratelimit-policy', `"default";q=${count};w=${windowMs / 1_000}`);
  response.setHeader('ratelimit', `"default";r=${remaining};t=${Math.ceil(resetsInMs / 1_000)}`);
  if (!isWithin) throw new AppError('rate_limited', EXHAUSTED[limitOf], { retryAfterMs: resetsInMs });
}

/** @throws AppError `insufficient_scope`. */
export function requireScope({ scopes, capabilities }: Principal, scope: Scope): void {
  if (scopes.includes(scope)) return;
  const who = capabilities === undefined ? 'API key' : 'portal session';
  throw new AppError('insufficient_scope', `This ${who} lacks the scope "${scope}".`);
}

function requireSecrets(principal: Principal): void {
  if (maySeeSecrets(principal)) return;
  throw new AppError('insufficient_scope', 'This portal session lacks the capability "secrets".');
}

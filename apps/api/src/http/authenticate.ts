import { type ActFor, type KnownAccounts, requireOperator } from '@hookferry/core/accounts/act-for';
import type { AuthenticateClient } from '@hookferry/core/accounts/auth-failures';
import { keyIn } from '@hookferry/core/accounts/authenticate';
import type { LimitRate } from '@hookferry/core/accounts/limit-rate';
import { maySeeSecrets, type Principal, type Scope } from '@hookferry/core/domain/account';
import type { EndpointsVersion, Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Request, RequestHandler, Response } from 'express';
import { createSpend, type Spend } from './rate-limit';
import type { Route } from './route';

export interface AuthenticateOptions {
  readonly authenticate: AuthenticateClient;
  readonly actFor: ActFor;
  readonly limitRate: LimitRate;
  readonly knownAccounts: KnownAccounts;
  readonly subscriptions: Pick<Subscriptions, 'readVersion'>;
}

type GuardedRoute = Pick<Route, 'operatorOnly' | 'handlesSecret' | 'stores'> & {
  readonly scope: Exclude<Route['scope'], 'none'>;
};

/** Lets only those pass whose API key, or portal session, may use the route, and says for which account. */
export function requireKeyFor(
  { scope, operatorOnly, handlesSecret, stores }: GuardedRoute,
  options: AuthenticateOptions,
): RequestHandler {
  const { authenticate, actFor, limitRate, knownAccounts } = options;
  return async (request, response, next) => {
    // Whoever publishes needs it next: it goes along, and saves a round trip.
    const early = stores === 'event' ? readEarly(request.headers.authorization, options) : undefined;
    const apiKey = await authenticate(request.headers.authorization, request.ip);
    knownAccounts.note(apiKey);
    // Only now: whoever knows the id of a key, but not the key, must not use up its requests.
    response.locals.spend = createSpend(apiKey, limitRate, response);
    await spendOf(response)(1);
    if (scope !== 'any') requireScope(apiKey, scope);
    if (handlesSecret) requireSecrets(apiKey);
    if (operatorOnly) requireOperator(apiKey);
    const actedFor = await actFor(apiKey, request.get('x-account-id'));
    response.locals.apiKey = actedFor;
    if (early?.accountId === actedFor.accountId) response.locals.endpointsVersion = early.version;
    next();
  };
}

/** The key, or token, as the client sent it, which is kept nowhere. */
export function presentedKeyOf(request: Request): string {
  return keyIn(request.headers.authorization) ?? '';
}

/** The key of the request; its account is the one that is acted for. */
export function apiKeyOf(response: Response): Principal {
  return response.locals.apiKey as Principal;
}

/** Of the endpoints of the account that is acted for; `undefined` if it was not read along. */
export function endpointsVersionOf(response: Response): Promise<EndpointsVersion> | undefined {
  return response.locals.endpointsVersion as Promise<EndpointsVersion> | undefined;
}

/** Counts what the request asks for beyond itself, for the key that it came with. */
export function spendOf(response: Response): Spend {
  return response.locals.spend as Spend;
}

function readEarly(authorization: string | undefined, { knownAccounts, subscriptions }: AuthenticateOptions) {
  const accountId = knownAccounts.of(authorization);
  if (accountId === undefined) return undefined;
  const version = subscriptions.readVersion(accountId);
  // Whoever needs it gets to know; a request that is refused needs it no more.
  version.catch(() => {});
  return { accountId, version };
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

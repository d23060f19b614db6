import type { ActFor } from '@webhooks/core/accounts/act-for';
import { keyIn } from '@webhooks/core/accounts/authenticate';
import type { AuthenticateClient } from '@webhooks/core/accounts/limit-auth-failures';
import type { LimitRate } from '@webhooks/core/accounts/limit-rate';
import { requireOperator } from '@webhooks/core/accounts/require-operator';
import { AppError } from '@webhooks/core/kernel/app-error';
import type { ApiKey, Scope } from '@webhooks/core/model/api-key';
import type { Request, RequestHandler, Response } from 'express';
import { createSpend, type Spend } from './rate-limit';
import type { Route } from './route';

export interface AuthenticateOptions {
  readonly authenticate: AuthenticateClient;
  readonly actFor: ActFor;
  readonly limitRate: LimitRate;
}

/** Lets only those pass whose API key may use the route, and says for which account. */
export function requireKeyFor(
  { scope, operatorOnly }: Pick<Route, 'scope' | 'operatorOnly'>,
  { authenticate, actFor, limitRate }: AuthenticateOptions,
): RequestHandler {
  return async (request, response, next) => {
    const apiKey = await authenticate(request.headers.authorization, request.ip);
    // Only now: whoever knows the id of a key, but not the key, must not use up its requests.
    response.locals.spend = createSpend(apiKey, limitRate, response);
    await spendOf(response)(1);
    if (scope !== 'any') requireScope(apiKey, scope);
    if (operatorOnly) requireOperator(apiKey);
    response.locals.apiKey = await actFor(apiKey, request.get('x-account-id'));
    next();
  };
}

/** The key as the client sent it, which is kept nowhere. */
export function presentedKeyOf(request: Request): string {
  return keyIn(request.headers.authorization) ?? '';
}

/** The key of the request; its account is the one that is acted for. */
export function apiKeyOf(response: Response): ApiKey {
  return response.locals.apiKey as ApiKey;
}

/** Counts what the request asks for beyond itself, for the key that it came with. */
export function spendOf(response: Response): Spend {
  return response.locals.spend as Spend;
}

function requireScope({ scopes }: ApiKey, scope: Scope): void {
  if (scopes.includes(scope)) return;
  throw new AppError('insufficient_scope', `This API key lacks the scope "${scope}".`);
}

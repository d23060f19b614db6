import type { ActFor } from '@webhooks/core/accounts/act-for';
import { requireOperator } from '@webhooks/core/accounts/require-operator';
import type { ApiKey, Scope } from '@webhooks/core/api-keys/api-key';
import type { Authenticate } from '@webhooks/core/api-keys/authenticate';
import { AppError } from '@webhooks/core/errors/app-error';
import type { Request, RequestHandler, Response } from 'express';
import type { Route } from './route';

export interface AuthenticateOptions {
  readonly authenticate: Authenticate;
  readonly actFor: ActFor;
}

/** Lets only those pass whose API key may use the route, and says for which account. */
export function requireKeyFor(
  { scope, operatorOnly }: Pick<Route, 'scope' | 'operatorOnly'>,
  { authenticate, actFor }: AuthenticateOptions,
): RequestHandler {
  return async (request, response, next) => {
    const apiKey = await authenticate(request.get('authorization'));
    requireScope(apiKey, scope);
    if (operatorOnly) requireOperator(apiKey);
    response.locals.apiKey = await actFor(apiKey, request.get('x-account-id'));
    next();
  };
}

/** The key as the client sent it, which is kept nowhere. */
export function presentedKeyOf(request: Request): string {
  return /\S+$/.exec(request.get('authorization') ?? '')?.[0] ?? '';
}

/** The key of the request; its account is the one that is acted for. */
export function apiKeyOf(response: Response): ApiKey {
  return response.locals.apiKey as ApiKey;
}

function requireScope({ scopes }: ApiKey, scope: Scope): void {
  if (scopes.includes(scope)) return;
  throw new AppError('insufficient_scope', `This API key lacks the scope "${scope}".`);
}

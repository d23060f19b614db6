import type { ApiKey, Scope } from '@webhooks/core/api-keys/api-key';
import type { Authenticate } from '@webhooks/core/api-keys/authenticate';
import { AppError } from '@webhooks/core/errors/app-error';
import type { Request, RequestHandler, Response } from 'express';

/** Lets only those pass whose API key has the scope. */
export function requireScope(authenticate: Authenticate, scope: Scope): RequestHandler {
  return async (request, response, next) => {
    const apiKey = await authenticate(request.get('authorization'));
    if (!apiKey.scopes.includes(scope)) {
      throw new AppError('insufficient_scope', `This API key lacks the scope "${scope}".`);
    }
    response.locals.apiKey = apiKey;
    next();
  };
}

/** The key as the client sent it, which is kept nowhere. */
export function presentedKeyOf(request: Request): string {
  return /\S+$/.exec(request.get('authorization') ?? '')?.[0] ?? '';
}

export function apiKeyOf(response: Response): ApiKey {
  return response.locals.apiKey as ApiKey;
}

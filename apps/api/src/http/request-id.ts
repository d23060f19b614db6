import type { NewId } from '@hookferry/core/kernel/ids';
import type { RequestHandler } from 'express';

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[A-Za-z0-9_-]{1,64}$/;

/** Gives each request an id, or keeps the one that a proxy gave it, and sends it back. */
export function requestId(newId: NewId): RequestHandler {
  return (request, response, next) => {
    const given = request.get(HEADER);
    const id = given !== undefined && ACCEPTABLE.test(given) ? given : newId('req');
    response.locals.requestId = id;
    response.set(HEADER, id);
    next();
  };
}

export function requestIdOf(response: { readonly locals: Record<string, unknown> }): string {
  return String(response.locals.requestId);
}

import {
  AppError,
  invalidRequest,
  prototypeErrors,
  validationErrorsOf,
} from '@hookferry/core/platform/app-error';
import { isStorable } from '@hookferry/core/platform/storable-text';
import { inWords } from '@hookferry/core/platform/zod-words';
import { jsonPointer } from '@hookferry/producer/fault-words';
import type { Request } from 'express';
import { z } from 'zod';
import { nothing, type RequestShape, type RouteRequest } from './route';

/** What a handler gets of a request, as its route declares it. */
export type RequestParts = Pick<RouteRequest, 'params' | 'query' | 'body'>;

export interface DeclaredShape {
  readonly shape: RequestShape;
  /** Of the body. */
  readonly schema: z.ZodType | undefined;
}

/**
 * Check a request against the shape that its route declares.
 *
 * @throws AppError `not_found` for an impossible id, `invalid_request` for everything else.
 */
export function parseRequest(
  request: Request,
  { shape, schema }: DeclaredShape,
  body: unknown,
): RequestParts {
  return {
    params: shape.params === undefined ? NOTHING : parseParams(request.params, shape.params),
    query: parseQuery(request, shape.query),
    body: schema === undefined ? undefined : parseBody(body, schema, shape),
  };
}

const NOTHING = {};

// Most requests have no query, and Express would parse it all the same.
function parseQuery(request: Request, schema: z.ZodType | undefined): unknown {
  if (schema === undefined && !request.url.includes('?')) return NOTHING;
  const parsed = (schema ?? nothing).safeParse(request.query, inWords);
  if (parsed.success) {
    refuseUnstorable(request.query);
    return parsed.data;
  }
  throw invalidRequest(validationErrorsOf(namingRepeated(parsed.error, request.query), '?'));
}

/** No record has such a text, and PostgreSQL takes none with NUL as a value to compare with. */
function refuseUnstorable(query: Request['query']): void {
  const isRefused = (value: unknown) => typeof value === 'string' && !isStorable(value);
  const names = Object.keys(query).filter((name) => isRefused(query[name]));
  if (names.length === 0) return;
  const detail = 'must not have the character NUL';
  throw invalidRequest(names.map((name) => ({ pointer: `?${jsonPointer([name])}`, detail })));
}

/** No parameter is a list. Express makes one of a parameter that is there several times. */
function namingRepeated({ issues }: z.ZodError, query: Request['query']): z.ZodError {
  const isRepeated = ({ path }: z.core.$ZodIssue) => path.length > 0 && Array.isArray(query[String(path[0])]);
  return new z.ZodError(
    issues.map((issue) => (isRepeated(issue) ? { ...issue, message: 'must be given once' } : issue)),
  );
}

function parseParams(params: unknown, schema: z.ZodType): unknown {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'There is no object with this id.');
}

// After the check: a value of the declared shape is not deep.
function parseBody(body: unknown, schema: z.ZodType, { hasEventData }: RequestShape): unknown {
  const parsed = schema.safeParse(body, inWords);
  if (!parsed.success) throw invalidRequest(validationErrorsOf(parsed.error));
  const validationErrors = hasEventData ? [] : prototypeErrors(body);
  if (validationErrors.length > 0) throw invalidRequest(validationErrors);
  return parsed.data;
}

import { AppError } from '@hookferry/core/kernel/app-error';
import { faultsOf, invalidRequest, prototypeFaults } from '@hookferry/core/kernel/faults';
import { inWords } from '@hookferry/core/kernel/zod-words';
import type { Request } from 'express';
import type { z } from 'zod';
import { nothing, type RequestShape } from './route';

export interface ParsedParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Checks a request against the shape that its route declares.
 *
 * @throws AppError `not_found` for an id that can't be one, `invalid_request` for everything else.
 */
export function parseRequest(request: Request, shape: RequestShape): ParsedParts {
  return {
    params: parseParams(request.params, shape.params ?? nothing),
    query: parse(request.query, shape.query ?? nothing, '?'),
    body: shape.body === undefined ? undefined : parseBody(request.body, shape.body, shape),
  };
}

function parseParams(params: unknown, schema: z.ZodType): unknown {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'There is nothing with this id.');
}

// Afterwards: what has the declared shape is not deep.
function parseBody(body: unknown, schema: z.ZodType, { hasEventData }: RequestShape): unknown {
  const parsed = parse(body, schema, '');
  const faults = hasEventData ? [] : prototypeFaults(body);
  if (faults.length > 0) throw invalidRequest(faults);
  return parsed;
}

function parse(value: unknown, schema: z.ZodType, base: string): unknown {
  const parsed = schema.safeParse(value, inWords);
  if (parsed.success) return parsed.data;
  throw invalidRequest(faultsOf(parsed.error, base));
}

import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '@hookferry/core/kernel/app-error';
import { invalidRequest } from '@hookferry/core/kernel/faults';
import { searchJsonFault } from '@hookferry/core/kernel/json-fault';
import express, { type RequestHandler } from 'express';
import type { BodyBounds } from './body-bounds';
import { type JsonPath, JsonWalk } from './json-walk';

const JSON_TYPES = ['application/json', 'application/merge-patch+json'];
const CHARSET = /;\s*charset="?([^";\s]*)/i;
const BYTE_ORDER_MARK = '\uFEFF';

/** body-parser's names for what can be wrong with a body, and ours. */
const ERROR_BY_TYPE: Readonly<Record<string, (maxBytes: number) => AppError>> = {
  'entity.too.large': (maxBytes) =>
    new AppError('payload_too_large', `The body is too large: at most ${maxBytes} bytes are taken here.`),
  'request.aborted': () => new AppError('malformed_json', 'The body ended before its announced length.'),
  'request.size.invalid': () => new AppError('malformed_json', 'The body has another length than announced.'),
};

// As deep as an event's data may be, 100 levels, with a batch around it, 3 more, and some to spare: so it can be said which
// event of a batch is too deep. The stack of whatever walks what was parsed holds a hundred times as many.
const MAX_DEPTH = 128;

// Walked in less than a millisecond, or a few on a busy machine.
const PIECE_BYTES = 256 * 1024;

/**
 * Reads a JSON body within bounds, and refuses anything else with a reason. So what it costs to read is bounded by its
 * size: it is not decompressed, and what is in it was counted before it is parsed, in pieces between which others have
 * their turn. The body's text stays beside what was parsed from it: see `bodyTextOf`.
 *
 * @param dataAt where in it the texts are that are kept as they were written: see `dataTextsOf`.
 * @param takeTurn what it waits for before the body is parsed.
 */
export function readJsonBody(
  { maxBytes, maxValues, mayBeEmpty }: BodyBounds,
  dataAt: JsonPath | undefined,
  takeTurn: RequestHandler,
): RequestHandler[] {
  const readBytes = express.raw({ limit: maxBytes, type: JSON_TYPES, inflate: false });
  return [
    requireIdentity,
    requireJsonType,
    (request, response, next) =>
      readBytes(request, response, (error?: unknown) => {
        next(error === undefined ? undefined : translate(error, maxBytes));
      }),
    takeTurn,
    parseBody({ maxValues, mayBeEmpty }, dataAt),
  ];
}

/** The body as it was sent; empty for a route that takes none. */
export function bodyTextOf(response: { readonly locals: Record<string, unknown> }): string {
  return (response.locals.bodyText as string | undefined) ?? '';
}

/** The texts in the body that the route needs as they were written. */
export function dataTextsOf(response: { readonly locals: Record<string, unknown> }): readonly string[] {
  return (response.locals.dataTexts as readonly string[] | undefined) ?? [];
}

// 35 bytes of brotli hold the processor for a second and more: no limit of what comes out bounds what that takes.
const requireIdentity: RequestHandler = (request, response, next) => {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity') return next();
  // RFC 9110, 12.5.3: says what can be sent instead.
  response.setHeader('accept-encoding', 'identity');
  throw new AppError('unsupported_media_type', 'Send the body as it is, without a Content-Encoding.');
};

const requireJsonType: RequestHandler = (request, _response, next) => {
  if (!hasBody(request.headers)) return next();
  if (request.is(JSON_TYPES) === false) {
    throw new AppError('unsupported_media_type', 'Send JSON, with "Content-Type: application/json".');
  }
  const charset = CHARSET.exec(request.get('content-type') ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new AppError('unsupported_media_type', 'Send JSON in UTF-8.');
  }
  next();
};

function parseBody(
  { maxValues, mayBeEmpty }: Omit<BodyBounds, 'maxBytes'>,
  dataAt?: JsonPath,
): RequestHandler {
  return (request, response, next) => {
    const bytes: unknown = request.body;
    if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
      if (!mayBeEmpty) throw bodyRequired();
      request.body = {};
      return next();
    }
    const text = decode(bytes);
    const walk = new JsonWalk(bytes, { maxDepth: MAX_DEPTH, maxValues }, dataAt);
    const take = (parsed: unknown) => {
      response.locals.bodyText = text;
      response.locals.dataTexts = walk.texts();
      request.body = parsed;
      next();
    };
    const parseWalked = () => {
      requireBounds(walk, maxValues);
      return parse(text);
    };
    if (!walk.goOn(PIECE_BYTES)) return walkRest(walk).then(parseWalked).then(inTheNextTurn).then(take);
    const parsed = parseWalked();
    return parsed instanceof Promise ? parsed : take(parsed);
  };
}

async function walkRest(walk: JsonWalk): Promise<void> {
  do await setImmediate();
  while (!walk.goOn(PIECE_BYTES));
}

async function inTheNextTurn<Value>(value: Value): Promise<Value> {
  return await setImmediate(value);
}

// Replacing what is not UTF-8 would deliver something else than was sent.
function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new AppError('malformed_json', 'The body is not valid UTF-8.');
  const text = bytes.toString();
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
}

function requireBounds({ passedBound }: JsonWalk, maxValues: number): void {
  switch (passedBound) {
    case 'depth':
      throw invalidRequest([{ pointer: '', detail: `is more than ${MAX_DEPTH} levels deep` }]);
    case 'values':
      throw new AppError(
        'payload_too_large',
        `The body holds too much: at most ${maxValues} values are taken here, at all depths together.`,
      );
    case undefined:
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse(text, error);
  }
}

async function refuse(text: string, cause: unknown): Promise<never> {
  const search = searchJsonFault(text);
  let step = search.next();
  for (; step.done !== true; step = search.next()) await setImmediate();
  const place = step.value;
  const where = place === undefined ? '' : ` from line ${place.line}, column ${place.column}, on`;
  throw new AppError('malformed_json', `The body is not valid JSON${where}.`, { cause });
}

function bodyRequired(): AppError {
  return new AppError('malformed_json', 'A JSON body is required, with "Content-Type: application/json".');
}

function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function translate(error: unknown, maxBytes: number): unknown {
  const { type = '' } = error as { readonly type?: string };
  return ERROR_BY_TYPE[type]?.(maxBytes) ?? error;
}

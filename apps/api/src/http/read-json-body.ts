import { isUtf8 } from 'node:buffer';
import { AppError } from '@webhooks/core/errors/app-error';
import express, { type RequestHandler } from 'express';

const JSON_TYPES = ['application/json', 'application/merge-patch+json'];
const CHARSET = /;\s*charset="?([^";\s]*)/i;
const BYTE_ORDER_MARK = '\uFEFF';

/** body-parser's names for what can be wrong with a body, and ours. */
const ERROR_BY_TYPE: Readonly<Record<string, (maxBytes: number) => AppError>> = {
  'entity.too.large': (maxBytes) =>
    new AppError('payload_too_large', `The body is too large: at most ${maxBytes} bytes are taken here.`),
  'encoding.unsupported': () =>
    new AppError('unsupported_media_type', 'The Content-Encoding is not supported.'),
  'request.aborted': () => new AppError('malformed_json', 'The body ended before its announced length.'),
  'request.size.invalid': () => new AppError('malformed_json', 'The body has another length than announced.'),
};

/**
 * Reads a JSON body of at most `maxBytes`, and refuses anything else with a reason. The body's text stays beside what
 * was parsed from it: see `bodyTextOf`.
 */
export function readJsonBody(maxBytes: number): RequestHandler[] {
  const readBytes = express.raw({ limit: maxBytes, type: JSON_TYPES });
  return [
    requireJsonType,
    (request, response, next) =>
      readBytes(request, response, (error?: unknown) => {
        next(error === undefined ? undefined : translate(error, maxBytes));
      }),
    parseBody,
  ];
}

/** The body as it was sent; empty for a route that takes none. */
export function bodyTextOf(response: { readonly locals: Record<string, unknown> }): string {
  return (response.locals.bodyText as string | undefined) ?? '';
}

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

const parseBody: RequestHandler = (request, response, next) => {
  const bytes: unknown = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw bodyRequired();
  const text = decode(bytes);
  response.locals.bodyText = text;
  request.body = parse(text);
  next();
};

// Replacing what is not UTF-8 would deliver something else than was sent.
function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new AppError('malformed_json', 'The body is not valid UTF-8.');
  const text = bytes.toString();
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('malformed_json', 'The body is not valid JSON.', { cause: error });
  }
}

function bodyRequired(): AppError {
  return new AppError('malformed_json', 'A JSON body is required, with "Content-Type: application/json".');
}

function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function translate(error: unknown, maxBytes: number): unknown {
  const { type = '', status } = error as { readonly type?: string; readonly status?: number };
  const make = ERROR_BY_TYPE[type];
  if (make) return make(maxBytes);
  // What zlib says of a broken compression has a status, but no type.
  return status === 400
    ? new AppError('malformed_json', 'The body can not be read.', { cause: error })
    : error;
}

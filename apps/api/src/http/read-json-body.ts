import { AppError } from '@webhooks/core/errors/app-error';
import express, { type RequestHandler } from 'express';

const JSON_TYPES = ['application/json', 'application/merge-patch+json'];

/** body-parser's names for what can be wrong with a body, and ours. */
const ERROR_BY_TYPE: Readonly<Record<string, () => AppError>> = {
  'entity.parse.failed': () => new AppError('malformed_json', 'The body is not valid JSON.'),
  'entity.too.large': () => new AppError('payload_too_large', 'The body is larger than the limit.'),
  'encoding.unsupported': () =>
    new AppError('unsupported_media_type', 'The Content-Encoding is not supported.'),
  'charset.unsupported': () => new AppError('unsupported_media_type', 'Send JSON in UTF-8.'),
  'entity.verify.failed': bodyRequired,
  'request.aborted': () => new AppError('malformed_json', 'The body ended before its announced length.'),
  'request.size.invalid': () => new AppError('malformed_json', 'The body has another length than announced.'),
};

/** Reads a JSON body of at most `maxBytes`, and refuses anything else with a reason. */
export function readJsonBody(maxBytes: number): RequestHandler[] {
  const parse = express.json({ limit: maxBytes, type: JSON_TYPES, strict: false, verify: refuseEmpty });
  return [
    requireJsonType,
    (request, response, next) =>
      parse(request, response, (error?: unknown) => {
        next(error === undefined ? undefined : translate(error));
      }),
    requireBody,
  ];
}

const requireJsonType: RequestHandler = (request, _response, next) => {
  if (request.is(JSON_TYPES) !== false || !hasBody(request.headers)) return next();
  throw new AppError('unsupported_media_type', 'Send JSON, with "Content-Type: application/json".');
};

const requireBody: RequestHandler = (request, _response, next) => {
  if (request.body !== undefined) return next();
  throw bodyRequired();
};

// body-parser would take no bytes at all for {}.
function refuseEmpty(_request: unknown, _response: unknown, bytes: Buffer): void {
  if (bytes.length === 0) throw bodyRequired();
}

function bodyRequired(): AppError {
  return new AppError('malformed_json', 'A JSON body is required, with "Content-Type: application/json".');
}

function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function translate(error: unknown): unknown {
  const { type = '', status } = error as { readonly type?: string; readonly status?: number };
  const make = ERROR_BY_TYPE[type];
  if (make) return make();
  // What zlib says of a broken compression has a status, but no type.
  return status === 400
    ? new AppError('malformed_json', 'The body can not be read.', { cause: error })
    : error;
}

import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { AppError, invalidRequest } from '@hookferry/core/platform/app-error';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { type JsonPath, JsonWalk } from './json-walk';
import { requestStateOf } from './request-state';
import type { Route } from './route';

/** Of all routes, unless they take other forms. */
export const JSON_TYPES: readonly string[] = ['application/json', 'application/merge-patch+json'];
/** As nearly all clients write it: it needs no parsing. */
const USUAL_TYPES: ReadonlySet<string | undefined> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
]);
const CHARSET = /;\s*charset="?([^";\s]*)/i;
const BYTE_ORDER_MARK = '\uFEFF';

/** body-parser's names for errors of a body, and the product's. */
const ERROR_BY_TYPE: Readonly<Record<string, (maxBytes: number) => AppError>> = {
  'entity.too.large': (maxBytes) =>
    new AppError('payload_too_large', `The body is too large: at most ${maxBytes} bytes are accepted here.`),
  'request.aborted': cutShort,
  'request.size.invalid': () =>
    new AppError('malformed_json', 'The length of the body differs from its Content-Length.'),
};

// An event's data may have 100 levels, with a batch around it 3 more, and some to spare: so the error can
// name the event of a batch that is too deep. The stack of any code that walks the parsed value holds a
// hundred times as many.
const MAX_DEPTH = 128;

// Walked in less than a millisecond, or a few on a busy machine.
const PIECE_BYTES = 256 * 1024;

/** A body after reading. */
export interface JsonBody {
  readonly value: unknown;
  /** As the client sent it; empty if absent. */
  readonly text: string;
  /** The unchanged texts of the values at the reader's path. */
  readonly dataTexts: readonly string[];
}

/** Stands for the body of a request that may lack one. */
export const NO_BODY: JsonBody = { value: {}, text: '', dataTexts: [] };

/**
 * Reads the JSON bodies of a route within bounds, and refuses anything else with a reason. Its size bounds
 * the cost of reading a body: it is not decompressed, and its values are counted before it is parsed, in
 * pieces between which other work runs.
 */
export class JsonBodyReader {
  /** For bodies whose length is not known before, or too long. */
  readonly #readBytes: RequestHandler;

  /** @param dataAt the path of the texts that are kept unchanged. */
  constructor(
    private readonly bounds: BodyBounds,
    private readonly dataAt?: JsonPath,
    private readonly mediaTypes = JSON_TYPES,
  ) {
    this.#readBytes = express.raw({ limit: bounds.maxBytes, type: [...mediaTypes], inflate: false });
  }

  /** The bytes of the body; empty if absent. */
  async readBytes(request: Request, response: Response): Promise<Buffer> {
    requireIdentity(request, response);
    requireType(request, this.mediaTypes);
    const length = announcedLengthOf(request);
    if (length === 0) return NO_BYTES;
    if (length !== undefined && length <= this.bounds.maxBytes)
      return await readAnnounced(request, response, length);
    await new Promise<void>((resolve, reject) => {
      void this.#readBytes(request, response, (error?: unknown) => {
        if (error === undefined) resolve();
        else reject(translate(error, this.bounds.maxBytes));
      });
    });
    const bytes: unknown = request.body;
    return Buffer.isBuffer(bytes) ? bytes : NO_BYTES;
  }

  async parse(bytes: Buffer): Promise<JsonBody> {
    const { maxValues, mayBeEmpty } = this.bounds;
    if (bytes.length === 0) {
      if (!mayBeEmpty) throw bodyRequired();
      return NO_BODY;
    }
    const text = decode(bytes);
    const walk = new JsonWalk(bytes, { maxDepth: MAX_DEPTH, maxValues }, this.dataAt);
    const isLong = !walk.goOn(PIECE_BYTES);
    if (isLong) await walkRest(walk);
    requireBounds(walk, maxValues);
    const value = parse(text);
    // The processing of a long one gets a turn of its own.
    if (isLong) await setImmediate();
    return { value, text, dataTexts: this.dataAt?.length === 0 ? [text.trim()] : walk.texts() };
  }
}

const NO_BYTES = Buffer.alloc(0);

function announcedLengthOf({ headers }: Request): number | undefined {
  const length = headers['content-length'];
  return length === undefined || headers['transfer-encoding'] !== undefined ? undefined : Number(length);
}

/** Node's parser lets no more through than was announced. */
async function readAnnounced(request: Request, response: Response, length: number): Promise<Buffer> {
  const state = requestStateOf(response);
  return await new Promise((resolve, reject) => {
    if (request.destroyed) return reject(cutShort());
    const chunks: Buffer[] = [];
    let missing = length;
    state.onClose = () => reject(cutShort());
    // One listener: more would cost as much as all the rest of the reading.
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      missing -= chunk.length;
      if (missing > 0) return;
      state.onClose = undefined;
      resolve(chunks.length === 1 ? chunk : Buffer.concat(chunks));
    });
  });
}

function cutShort(): AppError {
  return new AppError('malformed_json', 'The body is shorter than its Content-Length says.');
}

// 35 bytes of brotli can block the processor for a second and more: no limit on the output bounds that time.
function requireIdentity(request: Request, response: Response): void {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity') return;
  // RFC 9110, 12.5.3: names the accepted coding.
  response.setHeader('accept-encoding', 'identity');
  throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.');
}

/** The media type of a request's body, without parameters. */
export function mediaTypeOf({ headers }: Request): string | undefined {
  const type = headers['content-type'];
  return USUAL_TYPES.has(type) ? JSON_TYPES[0] : type?.split(';')[0]?.trim().toLowerCase();
}

function requireType(request: Request, mediaTypes: readonly string[]): void {
  const { headers } = request;
  if (!hasBody(headers) || (mediaTypes === JSON_TYPES && USUAL_TYPES.has(headers['content-type']))) return;
  if (request.is([...mediaTypes]) === false) {
    throw new AppError('unsupported_media_type', 'Send JSON, with "Content-Type: application/json".');
  }
  const charset = CHARSET.exec(request.get('content-type') ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new AppError('unsupported_media_type', 'Send JSON in UTF-8.');
  }
}

async function walkRest(walk: JsonWalk): Promise<void> {
  do await setImmediate();
  while (!walk.goOn(PIECE_BYTES));
}

// Replacing invalid UTF-8 would deliver different data.
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
        `The body has too many values: at most ${maxValues} are accepted here, at all levels together.`,
      );
    case undefined:
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const place = placeOfFault(text, cause as SyntaxError);
    const where = place === undefined ? '' : ` from line ${place.line}, column ${place.column}, on`;
    throw new AppError('malformed_json', `The body is not valid JSON${where}.`, { cause });
  }
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

/** The bounds of a body. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** Values at all depths together. */
  readonly maxValues: number;
  /** Whether the body may be absent. */
  readonly mayBeEmpty: boolean;
}

// A body with fixed members, such as a webhook's, has a few hundred. Checking this many invalid ones takes
// 0.1 s.
const MAX_VALUES = 10_000;

// Where events are published. Parsing this many takes 0.1 s at worst, as objects that are all different; 5
// MiB of those would take a second.
const MAX_EVENT_VALUES = 150_000;
// Where MAX_EVENT_BYTES is raised: more values than digits and commas can make of that.
const MAX_EVENT_VALUES_PER_BYTE = 9 / 16;

/** @param maxEventBodyBytes the longest body of one event. */
export function boundsOf(
  { maxBodyBytes, request }: Pick<Route, 'maxBodyBytes' | 'request'>,
  maxEventBodyBytes: number,
): BodyBounds {
  const maxValues = request.hasEventData
    ? Math.max(MAX_EVENT_VALUES, Math.ceil(maxEventBodyBytes * MAX_EVENT_VALUES_PER_BYTE))
    : MAX_VALUES;
  return {
    maxBytes: maxBodyBytes ?? maxEventBodyBytes,
    maxValues,
    mayBeEmpty: request.mayLackBody === true,
  };
}

export interface TextPlace {
  /** Counted from 1, the column in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
}

/** Where a text stops being JSON by the error of `JSON.parse`; `undefined` if that does not say where. */
export function placeOfFault(text: string, error: SyntaxError): TextPlace | undefined {
  const shownText = text.padEnd(LEAST_FOR_PLACE);
  const at = positionOfFault(shownText, shownText === text ? error : faultOf(shownText));
  return at === undefined ? undefined : placeOf(text, Math.min(at, text.length));
}

// Where V8 gives no position, it shows the unexpected token with ten characters on each side, and dots for the rest. Of a short
// text it shows all, which tells no place.
const SHOWN_AROUND = 10;
const LEAST_FOR_PLACE = 4 * SHOWN_AROUND;
const SURROUNDINGS = /^Unexpected token '[^]+?', (\.{3})?"([^]*)"(\.{3})? is not valid JSON$/;
const POSITION = / at position (\d+)/;

function faultOf(text: string): SyntaxError {
  try {
    JSON.parse(text);
  } catch (error) {
    return error as SyntaxError;
  }
  return new SyntaxError();
}

function positionOfFault(text: string, { message }: SyntaxError): number | undefined {
  const position = POSITION.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (message === 'Unexpected end of JSON input') return text.length;
  const [, before, shown = '', after] = SURROUNDINGS.exec(message) ?? [];
  if (before === undefined) return after === undefined ? undefined : shown.length - SHOWN_AROUND;
  return (after === undefined ? text.lastIndexOf(shown) : text.indexOf(shown)) + SHOWN_AROUND;
}

const LINE_FEED = 0x0a;

function placeOf(text: string, at: number): TextPlace {
  let line = 1;
  let lineAt = 0;
  // Without a list of lines: a body may have millions of them.
  for (let index = 0; index < at; index += 1) {
    if (text.charCodeAt(index) !== LINE_FEED) continue;
    line += 1;
    lineAt = index + 1;
  }
  return { line, column: at - lineAt + 1 };
}

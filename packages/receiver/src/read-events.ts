import type { CloudEventAttributes, SignedHeaders, VerifiedRequest, WebhookEvent } from './event';
import { type RequestHeaders, readHeader } from './headers';
import { WebhookVerificationError } from './verification-error';

type Members = Readonly<Record<string, unknown>>;

/** A request whose signature is valid. */
export interface SignedRequest {
  readonly body: Uint8Array;
  readonly headers: RequestHeaders;
  readonly signed: SignedHeaders;
  readonly binaryCloudEvents: boolean;
}

/**
 * The events of a request. Its body says which format it has, and no header does: no signature covers headers, so somebody
 * on the way could have changed them.
 *
 * @throws WebhookVerificationError `invalid_payload`
 */
export function readEvents({ body, headers, signed, binaryCloudEvents }: SignedRequest): VerifiedRequest {
  const text = textOf(body);
  if (readHeader(headers, 'ce-specversion') !== undefined) {
    if (binaryCloudEvents) return one(binaryEvent(text, headers, signed));
    throw invalidPayload('comes with attributes as headers, and "binaryCloudEvents" is not set');
  }
  const payload = parseJson(text);
  const { timestamp } = signed;
  if (Array.isArray(payload)) return several(payload.map((item) => cloudEvent(item, timestamp)));
  if (!isObject(payload)) throw invalidPayload('is not an object');
  if ('specversion' in payload) return one(cloudEvent(payload, timestamp));
  const { type, data } = payload;
  if (typeof type !== 'string' || !('data' in payload)) throw invalidPayload('has no "type" and "data"');
  // No event has this type: each has a dot.
  if (type === 'batch' && Array.isArray(data)) return several(data.map((item) => itemOf(item, timestamp)));
  return one({ ...signed, type, data });
}

function one(event: WebhookEvent): VerifiedRequest {
  return { events: [event], isBatch: false };
}

function several(events: readonly WebhookEvent[]): VerifiedRequest {
  return { events, isBatch: true };
}

function itemOf(item: unknown, timestamp: number | undefined): WebhookEvent {
  if (!isObject(item)) throw invalidPayload('has an item that is not an object');
  const { id, type, timestamp: acceptedAt, data } = item;
  if (typeof id === 'string' && typeof type === 'string' && typeof acceptedAt === 'string') {
    return { id, type, data, acceptedAt, ...when(timestamp) };
  }
  throw invalidPayload('has an item without "id", "type" or "timestamp"');
}

/** One that is a JSON object. Its id is in the body, which is signed. */
function cloudEvent(item: unknown, timestamp: number | undefined): WebhookEvent {
  if (!isObject(item)) throw invalidPayload('has an item that is not a CloudEvent');
  const { data, ...attributes } = item;
  return eventOf(attributes, { id: String(item['id']), ...when(timestamp) }, data);
}

// In the order of the specification. Names of extensions can't be found in all kinds of headers.
const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time', 'subject', 'dataschema', 'partitionkey'];

/** One whose attributes are headers. Its id is that of the request, which is signed. */
function binaryEvent(text: string, headers: RequestHeaders, signed: SignedHeaders): WebhookEvent {
  const datacontenttype = readHeader(headers, 'content-type') ?? 'application/json';
  const data = /^[^;]*[/+]json\b/i.test(datacontenttype) ? parseJson(text) : text;
  const attributes: Record<string, unknown> = { datacontenttype };
  for (const name of ATTRIBUTES) {
    const value = readHeader(headers, `ce-${name}`);
    if (value !== undefined) attributes[name] = decode(value);
  }
  if (signed.id !== undefined && attributes['id'] !== signed.id) {
    throw invalidPayload('comes with a "ce-id" that is not the id that was signed');
  }
  return eventOf(attributes, signed, data);
}

function eventOf(attributes: Members, signed: SignedHeaders, data: unknown): WebhookEvent {
  const { type, time } = attributes;
  if (!isCloudEvent(attributes)) throw invalidPayload('is not a CloudEvent 1.0');
  const acceptedAt = typeof time === 'string' ? { acceptedAt: time } : {};
  return { ...signed, type: String(type), data, ...acceptedAt, cloudEvent: attributes };
}

function isCloudEvent(attributes: Members): attributes is Members & CloudEventAttributes {
  const required = ['id', 'source', 'type'].map((name) => attributes[name]);
  return (
    attributes['specversion'] === '1.0' && required.every((text) => text !== '' && typeof text === 'string')
  );
}

function when(timestamp: number | undefined): SignedHeaders {
  return timestamp === undefined ? {} : { timestamp };
}

// As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw invalidPayload('is not UTF-8');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidPayload('is not JSON');
  }
}

export function invalidPayload(what: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'invalid_payload',
    `The signature is valid, but the body ${what}. If the service sent it, read the body yourself after verifySignature().`,
  );
}

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Transformed } from '../domain/attempt';
import { type Endpoint, liveSecrets, newestSecret } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { formatTraceparent, type TraceContext } from '../domain/trace';
import type { DeliveryContent, DeliveryHeaders, DeliveryRequest } from '../domain/transport';
import type { Signer } from '../endpoints/signing-keys/signing-keys';
import { ParsedCache } from '../platform/caches';
import type { Clock } from '../platform/clock';
import type { CloudEventsStyle } from './cloudevents';
import type { Ed25519Signatures, StandardMessage } from './ed25519-signatures';

export interface SignatureHeader {
  /** The name of the header that carries the plain signature of the body. */
  readonly name: string;
  /** The prefix of the signature's hex digits. */
  readonly prefix: string;
}

export interface RequestStyle {
  readonly userAgent: string;
  readonly signatureHeader: SignatureHeader;
  readonly cloudEvents?: CloudEventsStyle;
  /** Whether receivers get the attempt's position in a trace. Default: no. */
  readonly tellsTrace?: boolean;
}

export interface RequestInput {
  /** Whose id is the `webhook-id`. */
  readonly event: Pick<AcceptedEvent, 'id'>;
  readonly content: DeliveryContent;
  readonly endpoint: Endpoint;
  /** Sent instead of the event's body. */
  readonly transformed?: Transformed | undefined;
  /** 1, 2, … */
  readonly attempt: number;
  /** Whether this is a test of the endpoint: the event reports nothing that has happened. */
  readonly isTest: boolean;
  /** The attempt's position in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  /** The present, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** Made at that time, for an endpoint that asks for it. */
  readonly signed?: KeySignature | undefined;
  /** For an endpoint with `auth`. */
  readonly authorization?: string | undefined;
  readonly responseBytes?: number | undefined;
}

/** The signed request of one attempt. Each attempt is signed again, since the signature includes the time. */
export function prepareRequest(input: RequestInput, style: RequestStyle): DeliveryRequest {
  const { content, endpoint, responseBytes } = input;
  return {
    url: endpoint.url,
    body: content.body,
    headers: headersOf(input, style),
    ...(endpoint.timeoutMs === undefined ? {} : { timeoutMs: endpoint.timeoutMs }),
    ...(endpoint.tls === undefined ? {} : { tls: endpoint.tls }),
    ...(responseBytes === undefined ? {} : { responseBytes }),
    ...(endpoint.listener === undefined ? {} : { listener: endpoint.id }),
    ...(endpoint.rateLimit === undefined && endpoint.ordering === 'none' ? {} : { isSentOnce: true }),
  };
}

/** The product's own headers win: an endpoint's headers can add to them, never replace them. */
function headersOf(input: RequestInput, style: RequestStyle): Readonly<Record<string, string>> {
  const { content, endpoint, transformed } = input;
  const ours: Record<string, string> = deliveryHeaders(input, style);
  const theirs = transformed ? { ...endpoint.headers, ...transformed.headers } : endpoint.headers;
  const headers = theirs === undefined ? ours : Object.assign({}, theirs, ours);
  const { name, prefix } = style.signatureHeader;
  const lowerName = name.toLowerCase();
  // The header has room for a single signature.
  if (endpoint.signing !== 'ed25519') {
    headers[lowerName] = signBody(newestSecret(endpoint).secret, content.body, prefix);
  } else if (lowerName in headers) {
    // A header of the endpoint must not be mistaken for it.
    delete headers[lowerName];
  }
  return headers;
}

function deliveryHeaders(
  { event, content, endpoint, attempt, isTest, trace, now, signed, authorization }: RequestInput,
  { userAgent, tellsTrace }: RequestStyle,
): DeliveryHeaders {
  const message = { id: event.id, timestamp: toTimestamp(now), body: content.body };
  const headers: DeliveryHeaders = {
    'user-agent': userAgent,
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signaturesOf(endpoint, message, now, signed),
    'x-service-attempt': String(attempt),
    ...content.headers,
  };
  if (signed && endpoint.signing !== 'hmac') headers['webhook-key-id'] = signed.kid;
  if (isTest) headers['x-service-test'] = 'true';
  if (authorization !== undefined) headers.authorization = authorization;
  if (tellsTrace && trace) headers.traceparent = formatTraceparent(trace);
  return headers;
}

/** By the endpoint's secrets, by its account's key, or by both. */
function signaturesOf(
  endpoint: Endpoint,
  message: StandardMessage,
  now: number,
  signed: KeySignature | undefined,
): string {
  const secrets = () => liveSecrets(endpoint, now).map(({ secret }) => secret);
  if (endpoint.signing === 'hmac') return signMessage(secrets(), message);
  if (!signed) throw new TypeError("The endpoint asks for a signature by its account's key: pass one.");
  return endpoint.signing === 'ed25519'
    ? signed.signature
    : `${signMessage(secrets(), message)} ${signed.signature}`;
}

/** A signature by the account's key. */
export interface KeySignature {
  readonly kid: string;
  /** `v1a,` and base64. */
  readonly signature: string;
  /** The time that it covers. Milliseconds since the Unix epoch. */
  readonly at: number;
}

export async function signWithKey(
  ed25519Signatures: Ed25519Signatures,
  clock: Clock,
  { id, body }: Pick<StandardMessage, 'id' | 'body'>,
  signer: Signer,
): Promise<KeySignature> {
  const at = clock();
  const signature = await ed25519Signatures.sign(signer, { id, timestamp: toTimestamp(at), body });
  return { kid: signer.kid, signature, at };
}

function toTimestamp(now: number): number {
  return Math.floor(now / 1_000);
}

const SECRET_PREFIX = 'whsec_';

/**
 * The value of `X-Service-Signature`: the prefix and the lower-case hex of HMAC-SHA256 over the raw body.
 * The key is the secret string as it was issued, with its `whsec_`, in UTF-8.
 *
 * @throws TypeError when the secret is empty.
 */
export function signBody(secret: string, body: string, prefix = 'sha256='): string {
  return prefix + createHmac('sha256', signingKeys.get(secret).whole).update(body).digest('hex');
}

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,<base64>` for each secret, in the order
 * given, separated by a space. The key is the base64-decoded rest of the secret after `whsec_`.
 *
 * @throws TypeError when there is no secret, or one is empty.
 */
export function signMessage(secrets: readonly string[], message: StandardMessage): string {
  if (secrets.length === 0) throw new TypeError('There are no secrets to sign with: pass at least one.');
  return secrets.map((secret) => signMessageOnce(secret, message)).join(' ');
}

function signMessageOnce(secret: string, { id, timestamp, body }: StandardMessage): string {
  const { decoded } = signingKeys.get(secret);
  if (decoded === undefined) {
    throw new TypeError('The secret has no key in base64: pass it as it was issued.');
  }
  const signature = createHmac('sha256', decoded).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return `v1,${signature}`;
}

interface SigningKeys {
  /** The key of the secret as it was issued. */
  readonly whole: KeyObject;
  /** The key of the decoded base64, if it can be decoded. */
  readonly decoded: KeyObject | undefined;
}

// As many as URLs: see the transport.
const REMEMBERED_KEYS = 20_000;
// Node 24 needs as long to make a key from a text as for seven signatures.
const signingKeys = new ParsedCache(makeKeys, { entries: REMEMBERED_KEYS });

function makeKeys(secret: string): SigningKeys {
  const bytes = Buffer.from(encodedPartOf(secret), 'base64');
  return {
    whole: createSecretKey(secret, 'utf8'),
    decoded: bytes.length === 0 ? undefined : createSecretKey(bytes),
  };
}

// With an empty key, anybody can make the HMAC.
function encodedPartOf(secret: string): string {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  if (encoded.trim() === '') throw new TypeError('The secret to sign with is empty.');
  return encoded;
}

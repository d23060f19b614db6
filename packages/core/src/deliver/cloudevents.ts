import type { AccountStore } from '../accounts/redis-account-store';
import type { AccountId } from '../domain/account';
import type { Transformed } from '../domain/attempt';
import type { Endpoint } from '../domain/endpoint';
import { type AcceptedEvent, dataTextOf } from '../domain/event';
import { cloudEventsSourceSchema } from '../domain/setting-schemas';
import type { DeliveryContent, DeliveryHeaders } from '../domain/transport';
import { MASKED_VALUE } from '../endpoints/endpoint-options';
import { formatTime } from '../platform/clock';
import { isJsonType, parsedOrUndefined } from '../platform/json';

export const cloudEventsSettings = {
  SOURCE: cloudEventsSourceSchema
    .optional()
    .describe(
      'the `source` of [CloudEvents](cloudevents.md), unless webhook or account have their own; if not set, `PUBLIC_URL` and the account',
    ),
};

/** The deployment's settings for CloudEvents. */
export interface CloudEventsStyle {
  /** The `source` if neither the webhook nor its account has one. */
  readonly source?: string | undefined;
  /** The origin by which receivers reach the API, which has the schemas of event types. */
  readonly publicUrl?: string | undefined;
}

const JSON_TYPE = 'application/json';
export const CLOUDEVENTS_TYPE = 'application/cloudevents+json';
const CLOUDEVENTS_BATCH_TYPE = 'application/cloudevents-batch+json';

/** What describes the body in the usual format. */
export const NATIVE_HEADERS = { 'content-type': JSON_TYPE };

/** The attributes of CloudEvents 1.0 that this service gives, in the order in which they are written. */
interface Attributes {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly subject?: string;
  readonly dataschema?: string;
  readonly datacontenttype: string;
  /** Of the extension for partitioning: the event's group. */
  readonly partitionkey?: string;
}

export interface ContentInput {
  readonly event: AcceptedEvent;
  readonly endpoint: Pick<Endpoint, 'format' | 'cloudevents'>;
  /** The result of the webhook's code: sent instead of the event's body, in CloudEvents instead of its data. */
  readonly transformed?: Transformed | undefined;
  /** The account's own `source`, if it has one. */
  readonly accountSource?: string | undefined;
}

/**
 * The content of a delivery, in the format of its endpoint: the body, and the headers that describe it. It is the same for
 * every attempt. The text of the data is not changed.
 */
export function contentOf(input: ContentInput, style: CloudEventsStyle = {}): DeliveryContent {
  const { event, endpoint, transformed } = input;
  switch (endpoint.format) {
    case 'native':
      if (transformed) return { body: transformed.body, headers: { 'content-type': typeOf(transformed) } };
      return { body: event.body, headers: NATIVE_HEADERS };
    case 'cloudevents_structured':
      return structuredOf(input, style);
    case 'cloudevents_batch':
      return batchContentOf([itemOf(input, style)], endpoint.format);
    case 'cloudevents_binary':
      if (CLOUDEVENTS_TYPES.test(typeOf(transformed))) return structuredOf(input, style);
      return {
        body: transformed ? transformed.body : dataTextOf(event),
        headers: headersOf(attributesOf(input, style)),
      };
  }
}

// By the HTTP binding, 3: a receiver would take data of such a type for the event itself.
const CLOUDEVENTS_TYPES = /^application\/cloudevents/i;

function structuredOf(input: ContentInput, style: CloudEventsStyle): DeliveryContent {
  return { body: cloudEventOf(input, style), headers: { 'content-type': CLOUDEVENTS_TYPE } };
}

/** An event as one of several in a body. */
export function itemOf(input: ContentInput, style: CloudEventsStyle = {}): string {
  const { event, endpoint } = input;
  if (endpoint.format === 'cloudevents_batch') return cloudEventOf(input, style);
  const { id, type, acceptedAt } = event;
  const start = JSON.stringify({ id, type, timestamp: formatTime(acceptedAt) }).slice(0, -1);
  return `${start},"data":${jsonOf(input)}}`;
}

/** A request with several events: a list, also where it has one. */
export function batchContentOf(items: readonly string[], format: Endpoint['format']): DeliveryContent {
  const list = `[${items.join(',')}]`;
  return format === 'cloudevents_batch'
    ? { body: list, headers: { 'content-type': CLOUDEVENTS_BATCH_TYPE } }
    : { body: `{"type":"batch","data":${list}}`, headers: NATIVE_HEADERS };
}

function cloudEventOf(input: ContentInput, style: CloudEventsStyle): string {
  const attributes = JSON.stringify(attributesOf(input, style)).slice(0, -1);
  return `${attributes},"data":${jsonOf(input)}}`;
}

function typeOf(transformed: Transformed | undefined): string {
  return transformed?.headers['content-type'] ?? JSON_TYPE;
}

// By the JSON format of CloudEvents: data of another type are a string. So is what only says that it is JSON: pasted
// into the envelope, it could add members to it.
function jsonOf({ event, transformed }: ContentInput): string {
  if (!transformed) return dataTextOf(event);
  const { body } = transformed;
  const isJson = isJsonType(typeOf(transformed)) && parsedOrUndefined(body) !== undefined;
  return isJson ? body : JSON.stringify(body);
}

function attributesOf(
  { event, endpoint: { cloudevents = {} }, transformed, accountSource }: ContentInput,
  { source, publicUrl }: CloudEventsStyle,
): Attributes {
  const { type_prefix: prefix = '', subject_pointer: pointer } = cloudevents;
  const subject = pointer === undefined ? undefined : subjectOf(dataTextOf(event), pointer);
  return {
    specversion: '1.0',
    id: event.id,
    source: cloudevents.source ?? accountSource ?? source ?? defaultSource(event.accountId, publicUrl),
    type: prefix + event.type,
    time: formatTime(event.acceptedAt),
    ...(subject === undefined ? {} : { subject }),
    // Transformed data need not match the schema of the type.
    ...(publicUrl === undefined || transformed ? {} : { dataschema: schemaAddress(publicUrl, event.type) }),
    datacontenttype: typeOf(transformed),
    ...(event.group === undefined ? {} : { partitionkey: event.group }),
  };
}

/** The account's own `source`, if it has one and its endpoint none. */
export async function findAccountSource(
  accountStore: AccountStore,
  { accountId, format, cloudevents }: Pick<Endpoint, 'accountId' | 'format' | 'cloudevents'>,
): Promise<string | undefined> {
  // Most endpoints need no read here.
  if (format === 'native' || cloudevents?.source !== undefined) return undefined;
  return (await accountStore.find(accountId))?.cloudEventsSource;
}

/**
 * The headers of a content as they are recorded. Data can be erased, so what may be made of them is masked: the subject,
 * and a type that the webhook's code has set. That is recorded with the rest of what the code made.
 */
export function keptHeadersOf(
  { headers }: DeliveryContent,
  transformed?: Transformed,
): Readonly<Record<string, string>> {
  const ownType = transformed?.headers['content-type'];
  const isOwnType = ownType !== undefined && headers['content-type'] === ownType;
  if (headers['ce-subject'] === undefined && !isOwnType) return headers;
  return {
    ...headers,
    ...(isOwnType && { 'content-type': MASKED_VALUE }),
    ...(headers['ce-subject'] !== undefined && { 'ce-subject': MASKED_VALUE }),
  };
}

/** The default `source`: a URI that begins with `PUBLIC_URL`, or a relative one if that is not set. */
function defaultSource(accountId: AccountId, publicUrl = ''): string {
  return `${publicUrl}/accounts/${accountId}`;
}

/** The public URL of the schema of a type's data. */
function schemaAddress(publicUrl: string, type: string): string {
  return `${publicUrl}/v1/event-types/${type}/schema`;
}

// Such a text fits into a header however it is written.
const MAX_SUBJECT_CHARACTERS = 512;

/**
 * The string or number that a JSON Pointer (RFC 6901) finds in the data. Nothing, where that is no subject: an empty or
 * long text, one with control characters, or a number that a parser has rounded.
 */
function subjectOf(dataText: string, pointer: string): string | undefined {
  const found = valueAt(JSON.parse(dataText), pointer);
  if (typeof found === 'number') return isExact(found) ? String(found) : undefined;
  if (typeof found !== 'string' || found === '' || found.length > MAX_SUBJECT_CHARACTERS) return undefined;
  return /\p{Cc}|\p{Cs}/u.test(found) ? undefined : found;
}

function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || !Number.isInteger(value);
}

function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** The attributes as headers, by the HTTP binding of CloudEvents. */
function headersOf({ datacontenttype, ...attributes }: Attributes): DeliveryHeaders {
  const headers: DeliveryHeaders = {
    'content-type': datacontenttype,
    'ce-specversion': attributes.specversion,
    'ce-id': attributes.id,
    'ce-source': percentEncode(attributes.source),
    'ce-type': percentEncode(attributes.type),
    'ce-time': attributes.time,
  };
  if (attributes.subject !== undefined) headers['ce-subject'] = percentEncode(attributes.subject);
  if (attributes.dataschema !== undefined) headers['ce-dataschema'] = attributes.dataschema;
  if (attributes.partitionkey !== undefined) {
    headers['ce-partitionkey'] = percentEncode(attributes.partitionkey);
  }
  return headers;
}

// HTTP binding of CloudEvents, 3.1.3.2: all but visible ASCII characters, and these two.
const ENCODED = /[^\x21-\x7e]|["%]/gu;

/** A text as the value of a header, which any receiver decodes by percent-decoding once. */
export function percentEncode(text: string): string {
  return text.replaceAll(ENCODED, (character) =>
    character === '%' || character === '"'
      ? `%${character.charCodeAt(0).toString(16)}`
      : encodeURIComponent(character),
  );
}

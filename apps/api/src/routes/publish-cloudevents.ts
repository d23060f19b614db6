import { createHash } from 'node:crypto';
import { EVENT_TYPE_NAME_FORM, eventGroupSchema, eventIdSchema } from '@hookferry/core/domain/event';
import { cloudEventsSourceSchema } from '@hookferry/core/domain/setting-schemas';
import { AppError, type ValidationError, validationErrorsOf } from '@hookferry/core/platform/app-error';
import { inWords, textSchema } from '@hookferry/core/platform/zod-words';
import type { PublishedEvent } from '@hookferry/core/publish/publishing';
import { invalidEvent } from '@hookferry/core/publish/validate-event';
import { z } from 'zod';
import type { RouteRequest } from '../http/route';

const NOT_KEPT = 'is an attribute that is not kept: leave it out, or move its value into the data';

const idSchema = textSchema(1_024).min(1, 'must not be empty');
const timeSchema = z.iso.datetime({
  offset: true,
  error: 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
});
const contentTypeSchema = z
  .string()
  .regex(
    /^application\/json *(; *charset="?utf-8"?)?$/i,
    'must be application/json: no other data can be published',
  );

/**
 * A CloudEvent as producers publish it. What could not be passed on is refused, so that nothing is lost in silence.
 * `time` is checked: an event's own time is that of its acceptance.
 */
const cloudEventSchema = z
  .object({
    specversion: z.literal('1.0', 'must be "1.0"'),
    id: idSchema,
    source: cloudEventsSourceSchema.min(1),
    type: z.string().meta(EVENT_TYPE_NAME_FORM),
    time: timeSchema.optional(),
    datacontenttype: contentTypeSchema.optional(),
    partitionkey: eventGroupSchema.optional(),
    data: z.unknown(),
    data_base64: z.undefined('is not accepted: send JSON in "data"').optional().meta({ not: {} }),
  })
  .catchall(z.custom<never>(() => false, NOT_KEPT));

/** The same for the API's description. */
export const newCloudEventSchema = z
  .strictObject({
    specversion: z.literal('1.0').describe('The version of CloudEvents.'),
    id: idSchema.describe(
      'The id of the CloudEvent. A later one with the same `id` and `source` is not delivered again.',
    ),
    source: cloudEventsSourceSchema.describe('The source of the CloudEvent: a URI reference.'),
    type: z.string().meta({
      ...EVENT_TYPE_NAME_FORM,
      description: 'The event type: one of `GET /v1/event-types`, but no operational one.',
    }),
    time: timeSchema
      .optional()
      .describe(
        'A time (RFC 3339). It is checked but not kept: the time of an event is that of its acceptance.',
      ),
    datacontenttype: z
      .literal('application/json')
      .optional()
      .describe('The media type of the data. No other one can be published.'),
    partitionkey: eventGroupSchema
      .optional()
      .describe('The `group` of the event, by the CloudEvents extension for partitioning.'),
    data: z
      .unknown()
      .describe('The payload. It must match the schema of the event type, and is delivered byte for byte.'),
  })
  .meta({ id: 'NewCloudEvent' });

export const cloudEventExample = {
  specversion: '1.0',
  id: '4711',
  source: 'https://shop.example.com/orders',
  type: 'order.created',
  time: '2030-01-31T12:00:00Z',
  datacontenttype: 'application/json',
  data: { id: 'ord_4711', total: 99.5 },
};

export const CLOUDEVENT_PREFIX = 'ce-';

/** Its id is made of `source` and `id`, which are unique together: published again, it is the same event. */
export function readCloudEvent(item: unknown, dataText: string): PublishedEvent | AppError {
  const parsed = cloudEventSchema.safeParse(withoutNull(item), inWords);
  if (!parsed.success) return invalidEvent(validationErrorsOf(parsed.error));
  const { source, id, type, data, partitionkey } = parsed.data;
  const group = partitionkey === undefined ? {} : { group: partitionkey };
  return { type, data, dataText, id: eventIdOf(source, id), ...group };
}

function eventIdOf(source: string, id: string) {
  const hash = createHash('sha256')
    .update(JSON.stringify([source, id]))
    .digest('base64url');
  return eventIdSchema.parse(`ce_${hash}`);
}

// CloudEvents in JSON: an attribute that is null is one that is not there.
function withoutNull(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(
    Object.entries(item).filter(([name, value]) => value !== null || name === 'data'),
  );
}

/** One whose body is the data alone, and whose attributes are headers. */
export function readCloudEventInHeaders({
  body,
  dataTexts,
  headersWith,
}: RouteRequest): PublishedEvent | AppError {
  const attributes = Object.entries(headersWith(CLOUDEVENT_PREFIX)).map(([name, value]) => [
    name.slice(CLOUDEVENT_PREFIX.length),
    decodeAttribute(value),
  ]);
  // As the body's own media type says.
  return readCloudEvent({ ...Object.fromEntries(attributes), data: body }, dataTexts[0] ?? '');
}

const QUOTED = /^"((?:[^"\\]|\\.)*)"$/s;

// HTTP binding of CloudEvents, 3.1.3.2. A text that is not percent-encoded UTF-8 is taken as it is.
function decodeAttribute(value: string): string {
  const quoted = QUOTED.exec(value)?.[1]?.replaceAll(/\\(.)/gs, '$1') ?? value;
  try {
    return decodeURIComponent(quoted);
  } catch {
    return quoted;
  }
}

/** The same error of such a one: it points at headers, and into a body that is the data alone. */
export function pointingIntoHeaders(error: AppError): AppError {
  const validationErrors = error.validationErrors.map(
    ({ pointer, detail }): ValidationError => ({
      pointer: /^\/data(\/|$)/.test(pointer)
        ? pointer.slice('/data'.length)
        : CLOUDEVENT_PREFIX + pointer.slice(1),
      detail,
    }),
  );
  return new AppError(error.code, error.message, { validationErrors, cause: error.cause });
}

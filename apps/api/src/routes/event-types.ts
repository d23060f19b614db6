import { createHash } from 'node:crypto';
import { eventTypeInputSchema } from '@hookferry/core/accounts/event-types/custom-event-type';
import { eventTypeViewSchema } from '@hookferry/core/accounts/event-types/event-types';
import { EVENT_TYPE_NAME_FORM, eventTypeNameSchema } from '@hookferry/core/domain/event';
import { removeEventType as remove } from '@hookferry/core/endpoints/filters/event-filters';
import { z } from 'zod';
import { pageOf, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { etagOf, versionsOf } from '../http/send-reply';

const eventTypesSchema = pageOf(eventTypeViewSchema, 'EventTypePage');

/** All of them at once: dozens, not thousands. */
export const listEventTypes = defineRoute({
  operationId: 'listEventTypes',
  summary: 'List event types',
  method: 'get',
  path: '/v1/event-types',
  scope: 'any',
  request: {},
  responses: {
    200: {
      description:
        'Every event type: first your own, by name, then the built-in ones, and last those that the service raises.',
      schema: eventTypesSchema,
    },
  },
  async handle(_request, core) {
    return { status: 200, body: presentPage(await core.eventTypes.list(), undefined) };
  },
});

export const readEventType = defineRoute({
  operationId: 'readEventType',
  summary: 'Read an event type',
  method: 'get',
  path: '/v1/event-types/:name',
  scope: 'any',
  request: { params: z.object({ name: eventTypeNameSchema }) },
  responses: {
    200: { description: 'The event type.', schema: eventTypeViewSchema },
  },
  async handle({ params }, core) {
    return { status: 200, body: await core.eventTypes.read(params.name) };
  },
});

// Receivers, and tools of theirs, ask again after this time.
const CACHE_CONTROL = 'public, max-age=300';

/** CloudEvents link to it, and receivers have no key of the API. It shows only facts that receivers see in events. */
export const readEventTypeSchema = defineRoute({
  operationId: 'readEventTypeSchema',
  summary: "Read the schema of an event type's data",
  method: 'get',
  path: '/v1/event-types/:name/schema',
  scope: 'none',
  isPublic: true,
  request: { params: z.object({ name: eventTypeNameSchema }) },
  responses: {
    200: {
      description: 'The schema of `data`: JSON Schema 2020-12.',
      schema: eventTypeViewSchema.shape.schema,
    },
    304: { description: 'The schema has not changed since the ETag in `If-None-Match`.' },
  },
  problems: ['not_found', 'storage_unavailable'],
  async handle({ params, header }, core) {
    const { schema } = await core.eventTypes.read(params.name);
    const bodyText = JSON.stringify(schema);
    const version = createHash('sha256').update(bodyText).digest('base64url');
    const headers = { 'cache-control': CACHE_CONTROL, etag: etagOf(version) };
    const isKnown = versionsOf(header('if-none-match') ?? '')?.includes(version) ?? true;
    return isKnown ? { status: 304, headers } : { status: 200, headers, bodyText };
  },
});

/** A schema, an example and the members around them. */
const MAX_BODY_BYTES = 128 * 1024;

/** A type that all accounts can publish and subscribe to, at once and without a restart. */
export const putEventType = defineRoute({
  operationId: 'putEventType',
  summary: 'Add or replace an event type',
  method: 'put',
  path: '/v1/event-types/:name',
  scope: 'admin',
  audit: 'event_type.put',
  operatorOnly: true,
  request: {
    params: z.object({ name: z.string().meta(EVENT_TYPE_NAME_FORM) }),
    body: eventTypeInputSchema,
    example: {
      description: 'An invoice was paid.',
      schema: {
        type: 'object',
        properties: { id: { type: 'string' }, amount: { type: 'number' } },
        required: ['id'],
        additionalProperties: false,
      },
      example: { id: 'inv_1', amount: 10 },
    },
  },
  maxBodyBytes: MAX_BODY_BYTES,
  responses: {
    200: { description: 'The event type was replaced.', schema: eventTypeViewSchema },
    201: { description: 'The event type was added.', schema: eventTypeViewSchema },
  },
  problems: ['conflict', 'limit_reached'],
  async handle({ params, body, act }, core) {
    const put = await core.eventTypes.put(params.name, body, act);
    return { status: put.version === 1 ? 201 : 200, body: put };
  },
});

/** A type that an operator added, once it has no subscribers any more. */
export const deleteEventType = defineRoute({
  operationId: 'deleteEventType',
  summary: 'Delete an event type of your own',
  method: 'delete',
  path: '/v1/event-types/:name',
  scope: 'admin',
  audit: 'event_type.delete',
  operatorOnly: true,
  request: { params: z.object({ name: z.string().meta(EVENT_TYPE_NAME_FORM) }) },
  responses: {
    204: { description: 'The event type is deleted. Its events stay, and are delivered.' },
  },
  problems: ['conflict'],
  async handle({ params, act }, core) {
    await remove(core, params.name, act);
    return { status: 204 };
  },
});

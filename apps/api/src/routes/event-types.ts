import type { RemoveEventType } from '@hookferry/core/endpoints/filters/event-filters';
import {
  EVENT_TYPE_NAME_FORM,
  eventTypeInputSchema,
  eventTypeNameSchema,
} from '@hookferry/core/event-types/custom-event-type';
import { type EventTypes, eventTypeViewSchema } from '@hookferry/core/event-types/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const eventTypesSchema = z.object({ data: z.array(eventTypeViewSchema) }).meta({ id: 'EventTypeList' });

/** All of them at once: there are dozens, not thousands. */
export function listEventTypes(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'listEventTypes',
    summary: 'List the catalogue of event types',
    method: 'get',
    path: '/v1/event-types',
    scope: 'any',
    request: {},
    responses: {
      200: { description: 'Every event type.', schema: eventTypesSchema },
    },
    async handle() {
      return { status: 200, body: { data: await eventTypes.list() } };
    },
  });
}

export function readEventType(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'readEventType',
    summary: 'Read an event type',
    method: 'get',
    path: '/v1/event-types/:name',
    scope: 'any',
    request: { params: z.object({ name: eventTypeNameSchema }) },
    responses: {
      200: { description: 'The event type.', schema: eventTypeViewSchema },
    },
    async handle({ params }) {
      return { status: 200, body: await eventTypes.read(params.name) };
    },
  });
}

/** A schema, an example and what is around them. */
const MAX_BODY_BYTES = 128 * 1024;

/** A type that all accounts can publish and ask for, at once and without a restart. */
export function putEventType(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'putEventType',
    summary: 'Add or replace an event type',
    method: 'put',
    path: '/v1/event-types/:name',
    scope: 'admin',
    operatorOnly: true,
    request: {
      params: z.object({ name: z.string().meta(EVENT_TYPE_NAME_FORM) }),
      body: eventTypeInputSchema,
    },
    maxBodyBytes: MAX_BODY_BYTES,
    responses: {
      200: { description: 'The event type as it is now.', schema: eventTypeViewSchema },
    },
    problems: ['conflict', 'limit_reached'],
    async handle({ params, body }) {
      return { status: 200, body: await eventTypes.put(params.name, body) };
    },
  });
}

/** A type that an operator added, once no webhook asks for it any more. */
export function deleteEventType(removeEventType: RemoveEventType) {
  return defineRoute({
    operationId: 'deleteEventType',
    summary: 'Remove an event type that was added',
    method: 'delete',
    path: '/v1/event-types/:name',
    scope: 'admin',
    operatorOnly: true,
    request: { params: z.object({ name: z.string().meta(EVENT_TYPE_NAME_FORM) }) },
    responses: {
      204: { description: 'Nobody can publish or ask for it any more. Its events stay, and are delivered.' },
    },
    problems: ['conflict'],
    async handle({ params }) {
      await removeEventType(params.name);
      return { status: 204 };
    },
  });
}

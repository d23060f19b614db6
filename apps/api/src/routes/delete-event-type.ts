import { EVENT_TYPE_NAME_FORM } from '@hookferry/core/catalogue/custom-event-type';
import type { RemoveEventType } from '@hookferry/core/manage/remove-event-type';
import { z } from 'zod';
import { defineRoute } from '../http/route';

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

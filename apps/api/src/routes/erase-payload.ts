import type { ErasePayload } from '@hookferry/core/manage/erase-payload';
import { defineRoute } from '../http/route';
import { eventParams } from './params';

/** The event stays on record without it. Doing it again changes nothing. */
export function erasePayload(erase: ErasePayload) {
  return defineRoute({
    operationId: 'erasePayload',
    summary: "Erase an event's payload",
    method: 'delete',
    path: '/v1/events/:id/payload',
    scope: 'events:write',
    request: { params: eventParams },
    responses: {
      204: { description: 'It is erased for good, and what was pending of it is not sent any more.' },
    },
    async handle({ apiKey, params }) {
      await erase(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}

import { deadLetterIdSchema, deadLetterQueues } from '@hookferry/core/model/dead-letter';
import type { ManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import {
  listedDeadLetterSchema,
  presentListedDeadLetter,
} from '@hookferry/core/recovery/present-dead-letter';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const cursorSchema = z.object({ failedAt: z.number(), id: deadLetterIdSchema });

const querySchema = pageQuery(cursorSchema).extend({ queue: z.enum(deadLetterQueues).optional() });

export function listDeadLetters(deadLetters: ManageDeadLetters) {
  return defineRoute({
    operationId: 'listDeadLetters',
    summary: 'List the jobs that are invalid or failed for good',
    method: 'get',
    path: '/v1/dead-letters',
    scope: 'admin',
    operatorOnly: true,
    request: { query: querySchema },
    responses: {
      200: {
        description: 'A page of dead letters.',
        schema: pageOf(listedDeadLetterSchema, 'DeadLetterPage'),
      },
    },
    async handle({ query: { queue, limit, cursor } }) {
      const page = await deadLetters.list(queue, limit, cursor);
      return {
        status: 200,
        body: presentPage(page.deadLetters.map(presentListedDeadLetter), page.nextCursor),
      };
    },
  });
}

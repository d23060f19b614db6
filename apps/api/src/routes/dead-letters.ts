import { deadLetterIdSchema, deadLetterQueues } from '@hookferry/core/domain/dead-letter';
import {
  deadLetterSchema,
  listedDeadLetterSchema,
  presentDeadLetter,
  presentListedDeadLetter,
} from '@hookferry/core/replays/dead-letters';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const deadLetterParams = z.object({ id: deadLetterIdSchema });

const cursorSchema = z.object({ failedAt: z.number(), id: deadLetterIdSchema });

const querySchema = pageQuery(cursorSchema).extend({
  queue: z
    .enum(deadLetterQueues)
    .optional()
    .describe('Only dead letters of this queue. Default: those of all queues.'),
});

export const listDeadLetters = defineRoute({
  operationId: 'listDeadLetters',
  summary: 'List dead letters: jobs that are invalid or failed for good',
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
  async handle({ query: { queue, limit, cursor } }, core) {
    const page = await core.deadLetters.list(queue, limit, cursor);
    return {
      status: 200,
      body: presentPage(page.deadLetters.map(presentListedDeadLetter), page.nextCursor),
    };
  },
});

export const readDeadLetter = defineRoute({
  operationId: 'readDeadLetter',
  summary: 'Read a dead letter with its data',
  method: 'get',
  path: '/v1/dead-letters/:id',
  scope: 'admin',
  operatorOnly: true,
  request: { params: deadLetterParams },
  responses: {
    200: { description: 'The dead letter.', schema: deadLetterSchema },
  },
  async handle({ params }, core) {
    return { status: 200, bodyText: presentDeadLetter(await core.deadLetters.read(params.id)) };
  },
});

/**
 * A job that is still invalid, or fails again, becomes a new dead letter: one with another id, or of a later
 * time.
 */
export const retryDeadLetter = defineRoute({
  operationId: 'retryDeadLetter',
  summary: 'Retry a dead letter: put its job back onto its queue',
  method: 'post',
  path: '/v1/dead-letters/:id/retry',
  scope: 'admin',
  audit: 'dead_letter.retry',
  operatorOnly: true,
  request: { params: deadLetterParams },
  responses: {
    202: { description: 'The job is back on its queue. It is no longer a dead letter.' },
  },
  problems: ['conflict'],
  async handle({ params, act }, core) {
    await core.deadLetters.retry(params.id, act);
    return { status: 202 };
  },
});

export const dropDeadLetter = defineRoute({
  operationId: 'dropDeadLetter',
  summary: 'Drop a dead letter for good',
  method: 'delete',
  path: '/v1/dead-letters/:id',
  scope: 'admin',
  audit: 'dead_letter.drop',
  operatorOnly: true,
  request: { params: deadLetterParams },
  responses: {
    204: {
      description: 'The dead letter is deleted. The delivery or replay of the job ends as `cancelled`.',
    },
  },
  problems: ['conflict'],
  async handle({ params, act }, core) {
    await core.deadLetters.drop(params.id, act);
    return { status: 204 };
  },
});

import type { ManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import { defineRoute } from '../http/route';
import { deadLetterParams } from './params';

/** What is still invalid, or fails again, becomes a dead letter again: one with another id, or of a later time. */
export function redriveDeadLetter(deadLetters: ManageDeadLetters) {
  return defineRoute({
    operationId: 'redriveDeadLetter',
    summary: 'Put a dead letter back onto its queue',
    method: 'post',
    path: '/v1/dead-letters/:id/redrive',
    scope: 'admin',
    operatorOnly: true,
    request: { params: deadLetterParams },
    responses: {
      202: { description: 'It is back on its queue, and no dead letter any more.' },
    },
    problems: ['conflict'],
    async handle({ params }) {
      await deadLetters.redrive(params.id);
      return { status: 202 };
    },
  });
}

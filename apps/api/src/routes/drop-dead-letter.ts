import type { ManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import { defineRoute } from '../http/route';
import { deadLetterParams } from './params';

export function dropDeadLetter(deadLetters: ManageDeadLetters) {
  return defineRoute({
    operationId: 'dropDeadLetter',
    summary: 'Drop a dead letter for good',
    method: 'delete',
    path: '/v1/dead-letters/:id',
    scope: 'admin',
    operatorOnly: true,
    request: { params: deadLetterParams },
    responses: {
      204: { description: 'It is gone; a delivery or a replay whose job it was is cancelled.' },
    },
    problems: ['conflict'],
    async handle({ params }) {
      await deadLetters.drop(params.id);
      return { status: 204 };
    },
  });
}

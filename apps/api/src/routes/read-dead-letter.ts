import type { ManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import { deadLetterSchema, presentDeadLetter } from '@hookferry/core/recovery/present-dead-letter';
import { defineRoute } from '../http/route';
import { deadLetterParams } from './params';

export function readDeadLetter(deadLetters: ManageDeadLetters) {
  return defineRoute({
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
    async handle({ params }) {
      return { status: 200, bodyText: presentDeadLetter(await deadLetters.read(params.id)) };
    },
  });
}

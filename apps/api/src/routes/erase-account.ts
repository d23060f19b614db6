import type { EraseAccount } from '@hookferry/core/manage/erase-account';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { accountIdSchema } from '@hookferry/core/model/event';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** With all that it owns, in the background. Asking again changes nothing. */
export function eraseAccount(erase: EraseAccount) {
  return defineRoute({
    operationId: 'eraseAccount',
    summary: 'Erase an account with all that it owns',
    method: 'delete',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    request: { params: z.object({ id: accountIdSchema }) },
    responses: {
      202: {
        description: 'Its keys and webhooks are gone; the rest goes in the background.',
        schema: accountViewSchema,
      },
    },
    problems: ['conflict'],
    async handle({ params }) {
      return { status: 202, body: presentAccount(await erase(params.id)) };
    },
  });
}

import type { ManageReplays } from '@hookferry/core/recovery/manage-replays';
import { defineRoute } from '../http/route';
import { replayParams } from './params';

/** It can still be read; one that has ended stays as it is. */
export function cancelReplay(replays: ManageReplays) {
  return defineRoute({
    operationId: 'cancelReplay',
    summary: 'Cancel a replay',
    method: 'delete',
    path: '/v1/replays/:id',
    scope: 'deliveries:write',
    request: { params: replayParams },
    responses: {
      204: { description: 'It is cancelled, or had ended before.' },
    },
    async handle({ apiKey, params }) {
      await replays.cancel(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}

import type { ManageReplays } from '@hookferry/core/recovery/manage-replays';
import { defineRoute } from '../http/route';
import { replayParams } from './params';
import { presentReplay, replaySchema } from './present-replay';

export function readReplay(replays: ManageReplays) {
  return defineRoute({
    operationId: 'readReplay',
    summary: 'Read a replay and how far it is',
    method: 'get',
    path: '/v1/replays/:id',
    scope: 'deliveries:read',
    request: { params: replayParams },
    responses: {
      200: { description: 'The replay.', schema: replaySchema },
    },
    async handle({ apiKey, params }) {
      return { status: 200, body: presentReplay(await replays.read(apiKey.accountId, params.id)) };
    },
  });
}

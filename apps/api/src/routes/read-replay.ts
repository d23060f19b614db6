import type { ManageReplays } from '@webhooks/core/replays/manage-replays';
import { defineRoute } from '../http/route';
import { presentReplay } from './present-replay';
import { replayParams } from './replay-params';

export function readReplay(replays: ManageReplays) {
  return defineRoute({
    method: 'get',
    path: '/v1/replays/:id',
    scope: 'deliveries:read',
    request: { params: replayParams },
    async handle({ apiKey, params }) {
      return { status: 200, body: presentReplay(await replays.read(apiKey.accountId, params.id)) };
    },
  });
}

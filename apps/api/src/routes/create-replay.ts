import { invalidRequest } from '@hookferry/core/kernel/faults';
import {
  DEFAULT_RATE,
  MAX_RATE,
  REPLAY_ID_PREFIX,
  type ReplayId,
  replayModes,
} from '@hookferry/core/model/replay';
import type { ManageReplays } from '@hookferry/core/recovery/manage-replays';
import { z } from 'zod';
import { defineRoute } from '../http/route';
import { sentTimeSchema } from '../http/time-range';
import { webhookParams } from './params';
import { presentReplay, replaySchema } from './present-replay';

const bodySchema = z
  .strictObject({
    since: sentTimeSchema,
    until: sentTimeSchema.optional(),
    mode: z.enum(replayModes),
    dry_run: z.boolean().default(false),
    rate: z
      .number()
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(MAX_RATE, `must be at most ${MAX_RATE}`)
      .default(DEFAULT_RATE),
  })
  .meta({ id: 'NewReplay' });

/** Goes on in the background; how far it is, is read at its `Location`. */
export function createReplay(replays: ManageReplays) {
  return defineRoute({
    operationId: 'createReplay',
    summary: 'Send the events of a time range to a webhook',
    method: 'post',
    path: '/v1/webhooks/:id/replays',
    scope: 'deliveries:write',
    request: { params: webhookParams, body: bodySchema },
    creates: true,
    stores: 'other',
    problems: ['replays_running'],
    responses: {
      202: { description: 'The replay, which goes on in the background.', schema: replaySchema },
    },
    async handle({ apiKey, params, body, newId, receivedAt }) {
      const { since, until = receivedAt, mode, rate, dry_run: isDryRun } = body;
      if (since >= until) {
        throw invalidRequest([{ pointer: '/since', detail: 'must be before "until", or before now' }]);
      }
      const replay = await replays.create(apiKey.accountId, params.id, {
        id: newId(REPLAY_ID_PREFIX) as ReplayId,
        mode,
        since,
        until: Math.min(until, receivedAt),
        rate,
        isDryRun,
        createdAt: receivedAt,
      });
      return {
        status: 202,
        headers: { location: `/v1/replays/${replay.id}` },
        body: presentReplay(replay),
      };
    },
  });
}

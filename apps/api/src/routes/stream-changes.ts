import type { StreamMessage } from '@hookferry/core/changes/change-reader';
import type { ChangeStreams } from '@hookferry/core/changes/change-streams';
import { AppError } from '@hookferry/core/kernel/app-error';
import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { endpointRefSchema } from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { createLimitAtOnce } from '../http/limit-at-once';
import { credentialsIn, type MayGoOn } from '../http/may-go-on';
import { limitSchema } from '../http/page';
import { defineRoute } from '../http/route';
import { EVENTS_HEAD, EVENTS_HEADERS } from '../http/send-events';
import { presentMessage, streamedChangeSchema } from './present-change';

const MAX_SECONDS = 86_400;

// Each is a connection that stays. In each process.
const MOST_AT_ONCE = 20;

const SCOPE = 'deliveries:read';

const placeSchema = z.string().regex(/^\d{1,15}-\d{1,15}$/, 'must be the id of an event of this stream');

const querySchema = z.strictObject({
  webhook_id: endpointRefSchema.optional(),
  last_event_id: placeSchema.optional().meta({
    description: 'Where to go on, for clients that can not send the header `Last-Event-ID`.',
  }),
  max_seconds: limitSchema(MAX_SECONDS).optional(),
});

/** Stays open: an event for each change, within moments. */
export function streamChanges(
  streams: ChangeStreams,
  endpoints: Pick<ManageEndpoints, 'read'>,
  mayGoOn: MayGoOn,
) {
  const limitAtOnce = createLimitAtOnce(MOST_AT_ONCE);
  return defineRoute({
    operationId: 'streamChanges',
    summary: 'Follow what changes, as server-sent events',
    method: 'get',
    path: '/v1/stream',
    scope: SCOPE,
    request: { query: querySchema },
    responses: {
      200: {
        description: 'Server-sent events until either side ends it: see the page on the stream.',
        schema: streamedChangeSchema,
        isEvents: true,
      },
    },
    async handle({ apiKey: { accountId }, query, header }) {
      const { webhook_id: ref, max_seconds: seconds = MAX_SECONDS } = query;
      const credentials = credentialsIn(header, SCOPE);
      const options = {
        endpointId: ref === undefined ? undefined : (await endpoints.read(accountId, ref)).id,
        // A browser that comes back sends it beside the query that it began with.
        after: placeIn(header('last-event-id')) ?? query.last_event_id,
        maxMs: seconds * 1_000,
        isAllowed: () => mayGoOn(credentials),
      };
      return {
        status: 200,
        headers: EVENTS_HEADERS,
        events: (connection) => limitAtOnce(accountId, texts(streams.open(accountId, options, connection))),
      };
    },
  });
}

function placeIn(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  const place = placeSchema.safeParse(header);
  if (place.success) return place.data;
  throw new AppError(
    'invalid_request',
    'The header Last-Event-ID must be the id of an event of this stream.',
  );
}

async function* texts(messages: AsyncIterable<StreamMessage>): AsyncGenerator<string, void> {
  yield EVENTS_HEAD;
  for await (const message of messages) yield presentMessage(message);
}

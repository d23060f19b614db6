import { endpointIdSchema, endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { eventIdSchema } from '@hookferry/core/domain/event';
import type { ExportedAttempt } from '@hookferry/core/history/exports';
import { formatTime } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { credentialsIn, mayGoOn, whileAllowed } from '../http/long-requests';
import { cursorSchema, encodeCursor, isInOrder, limitSchema, timeRangeQuery } from '../http/page';
import { defineRoute, type Parts } from '../http/route';
import { attemptSchema, deliverySchema, presentAttempt } from './present-delivery';

const MAX_LIMIT = 1_000_000;

// A page may be some megabytes, and the client slow: it is turned into text on demand.
const PART_LENGTH = 65_536;

// Nothing is accepted by clocks that are further ahead than this. So an export ends although events are
// published meanwhile, and still leaves out nothing that existed at its beginning.
const CLOCK_SKEW_MS = 60_000;

const cursorPartsSchema = z.strictObject({
  createdAt: z.number(),
  eventId: eventIdSchema,
  endpointId: endpointIdSchema,
  attempts: z.int().min(1),
});

const querySchema = z
  .strictObject({
    ...timeRangeQuery('attempts for events that were accepted'),
    webhook_id: endpointRefSchema
      .optional()
      .describe('Only attempts to this webhook: its id or its `uid`. Default: to all webhooks.'),
    limit: limitSchema(MAX_LIMIT)
      .optional()
      .describe('How many lines to export at most: 1 to 1,000,000. Default: all attempts.'),
    cursor: cursorSchema(cursorPartsSchema, 'must be the cursor of an exported line')
      .optional()
      .describe(
        'The `cursor` of the last line that you have: the export continues after it. Default: it starts at the first attempt.',
      ),
  })
  .refine(...isInOrder);

// Each reads for as long as its client does, over maybe hundreds of thousands of attempts.
const MOST_AT_ONCE = 2;

const SCOPE = 'deliveries:read';

const exportedAttemptSchema = z
  .object({ delivery_id: z.string().describe('The id of the delivery that the attempt belongs to.') })
  .extend(
    deliverySchema.pick({
      event_id: true,
      webhook_id: true,
      event_type: true,
      status: true,
      created_at: true,
    }).shape,
  )
  .extend({
    attempt: attemptSchema.describe('The attempt itself.'),
    cursor: z.string().describe('Pass it as the parameter `cursor` to continue an export after this line.'),
  })
  .meta({ id: 'ExportedAttempt' });

export const exportDeliveries = defineRoute({
  operationId: 'exportDeliveries',
  summary: 'Export attempts, one on each line',
  method: 'get',
  path: '/v1/deliveries/export',
  scope: SCOPE,
  request: { query: querySchema },
  responses: {
    200: {
      description: 'Lines of JSON (NDJSON). The schema describes one line.',
      schema: exportedAttemptSchema,
      isLines: true,
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, query, header, receivedAt }, core) {
    const { since = 0, until = Number.POSITIVE_INFINITY, webhook_id: endpoint, limit, cursor } = query;
    const end = Math.min(until, receivedAt + CLOCK_SKEW_MS);
    const scope = { range: { since, until: end }, endpoint, limit };
    const { accountId } = apiKey;
    const credentials = credentialsIn(header, SCOPE);
    const lines: Parts = ({ signal }) => linesOf(core.exports.attempts(accountId, scope, cursor, signal));
    return {
      status: 200,
      lines: (connection) =>
        core.longAnswers.limit(
          { operation: 'exportDeliveries', accountId, most: MOST_AT_ONCE },
          // An export lasts as long as its client reads, and its key may end before.
          whileAllowed(lines, connection, () => mayGoOn(core.authentication, credentials)),
        ),
    };
  },
});

async function* linesOf(pages: AsyncIterable<readonly ExportedAttempt[]>) {
  for await (const page of pages) {
    let part = '';
    for (const exported of page) {
      part += `${JSON.stringify(presentExportedAttempt(exported))}\n`;
      if (part.length < PART_LENGTH) continue;
      yield part;
      part = '';
    }
    if (part !== '') yield part;
  }
}

/** A line of an export. */
function presentExportedAttempt(exported: ExportedAttempt): z.infer<typeof exportedAttemptSchema> {
  return {
    delivery_id: exported.id,
    event_id: exported.eventId,
    webhook_id: exported.endpointId,
    event_type: exported.type,
    status: exported.status,
    created_at: formatTime(exported.createdAt),
    attempt: presentAttempt(exported, exported.attempt),
    cursor: encodeCursor(exported.cursor),
  };
}

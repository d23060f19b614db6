import { endReasons, type ListenerLine } from '@hookferry/core/listeners/listener-stream';
import type { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import { z } from 'zod';
import { createLimitAtOnce } from '../http/limit-at-once';
import { credentialsIn, type MayGoOn } from '../http/may-go-on';
import { limitSchema } from '../http/page';
import { defineRoute } from '../http/route';
import { listenerParams } from './params';

const MAX_PARALLEL = 100;
const DEFAULT_PARALLEL = 10;
const MAX_SECONDS = 86_400;

// Each is a connection that stays.
const MOST_AT_ONCE = 20;

const SCOPE = 'webhooks:write';

const lineSchema = z
  .object({
    kind: z.enum(['ready', 'delivery', 'end']),
    stream: z.string().optional().meta({ description: 'What to name with each answer; with `ready`.' }),
    exchange: z.string().optional().meta({ description: 'What to name in the answer; with `delivery`.' }),
    headers: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'The headers of the request to send; with `delivery`.' }),
    body_base64: z
      .string()
      .optional()
      .meta({ description: 'The body of the request to send, byte for byte; with `delivery`.' }),
    timeout_ms: z.int().optional(),
    answer_bytes: z
      .int()
      .optional()
      .meta({ description: 'How much of the body of the answer is kept; with `delivery`.' }),
    reason: z.enum(endReasons).optional().meta({
      description: 'Why there is nothing more; with `end`. After `replaced`, do not connect again.',
    }),
  })
  .meta({ id: 'ListenerLine' });

/** Stays open: a line for each delivery, as soon as it is due. */
export function streamListener(streams: ListenerStreams, mayGoOn: MayGoOn) {
  const limitAtOnce = createLimitAtOnce(MOST_AT_ONCE);
  return defineRoute({
    operationId: 'streamListener',
    summary: 'Connect a listener, and get its deliveries, a line each',
    method: 'get',
    path: '/v1/listeners/:id/stream',
    scope: SCOPE,
    // Of each delivery it tells all headers, with their values.
    handlesSecret: true,
    request: {
      params: listenerParams,
      query: z.strictObject({
        parallel: limitSchema(MAX_PARALLEL).default(DEFAULT_PARALLEL),
        max_seconds: limitSchema(MAX_SECONDS).optional(),
      }),
    },
    responses: {
      200: {
        description: 'JSON texts, each with a line feed after it, until either side ends it.',
        schema: lineSchema,
        isLines: true,
      },
    },
    async handle({ apiKey: { accountId }, params: { id: endpointId }, query, header }) {
      const address = { accountId, endpointId };
      const credentials = credentialsIn(header, SCOPE);
      const options = {
        parallel: query.parallel,
        maxMs: (query.max_seconds ?? MAX_SECONDS) * 1_000,
        isAllowed: () => mayGoOn(credentials),
      };
      return {
        status: 200,
        lines: (connection) => limitAtOnce(accountId, texts(streams.open(address, options, connection))),
      };
    },
  });
}

async function* texts(lines: AsyncIterable<ListenerLine>): AsyncGenerator<string, void> {
  for await (const line of lines) yield `${JSON.stringify(present(line))}\n`;
}

function present(line: ListenerLine): z.infer<typeof lineSchema> {
  if (line.kind !== 'delivery') return line;
  const { headers, body, timeoutMs, keptBytes } = line.request;
  return {
    kind: 'delivery',
    exchange: line.exchange,
    headers: { ...headers },
    body_base64: Buffer.from(body).toString('base64'),
    timeout_ms: timeoutMs,
    answer_bytes: keptBytes,
  };
}

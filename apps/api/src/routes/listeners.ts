import { endpointIdSchema, newestSecret } from '@hookferry/core/domain/endpoint';
import { listenerMembers, renameMembers } from '@hookferry/core/endpoints/endpoint-input';
import { forwardFailures, type ListenerAnswer } from '@hookferry/core/listeners/listener-message';
import { endReasons, type ListenerLine } from '@hookferry/core/listeners/listener-stream';
import * as listeners from '@hookferry/core/listeners/manage-listeners';
import { sentTimeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { credentialsIn, mayGoOn } from '../http/long-requests';
import { limitSchema } from '../http/page';
import { defineRoute } from '../http/route';
import { presentWebhook, webhookSchema } from './present-webhook';
import { secretViewSchema } from './webhooks';

const listenerParams = z.object({ id: endpointIdSchema });

const NAME_FORM = 'must be 1 to 63 of a-z 0-9 - and begin and end with a letter or digit';

const bodySchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, NAME_FORM)
      .describe('The name of the listener: the same name goes on with the same one.'),
    ...listenerMembers,
    since: sentTimeSchema.optional(),
  })
  .transform(renameMembers)
  .meta({ id: 'NewListener' });

const listenerSchema = webhookSchema.extend(secretViewSchema.shape).meta({ id: 'Listener' });

/**
 * Shows the secret of an existing one. Not `creates`: its name identifies it, however often it is requested.
 */
export const createListener = defineRoute({
  operationId: 'createListener',
  summary: 'Make a listener, or have it go on where it was',
  method: 'post',
  path: '/v1/listeners',
  scope: 'webhooks:write',
  audit: 'listener.create',
  handlesSecret: true,
  request: { body: bodySchema, example: { name: 'my-laptop', events: ['keyword.*'], ordering: 'strict' } },
  stores: 'other',
  responses: {
    200: {
      description: 'The listener: a webhook whose deliveries are taken over `GET /v1/listeners/{id}/stream`.',
      schema: listenerSchema,
    },
  },
  problems: ['conflict', 'limit_reached', 'replays_running'],
  async handle({ apiKey, body, act }, context) {
    const endpoint = await listeners.createListener(context, apiKey.accountId, body, act);
    return {
      status: 200,
      headers: { 'cache-control': 'no-store' },
      body: { ...presentWebhook(endpoint), secret: newestSecret(endpoint).secret },
    };
  },
});

const MAX_PARALLEL = 100;
const DEFAULT_PARALLEL = 10;
const MAX_SECONDS = 86_400;

// Each is a lasting connection.
const MOST_AT_ONCE = 20;

const SCOPE = 'webhooks:write';

const lineSchema = z
  .object({
    kind: z
      .enum(['ready', 'delivery', 'end'])
      .describe('What the line is: the beginning, a delivery, or the end.'),
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
export const streamListener = defineRoute({
  operationId: 'streamListener',
  summary: 'Connect a listener, and get its deliveries, a line each',
  method: 'get',
  path: '/v1/listeners/:id/stream',
  scope: SCOPE,
  // It shows all headers of each delivery, with their values.
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
  async handle({ apiKey: { accountId }, params: { id: endpointId }, query, header }, context) {
    const address = { accountId, endpointId };
    const credentials = credentialsIn(header, SCOPE);
    const options = {
      parallel: query.parallel,
      maxMs: (query.max_seconds ?? MAX_SECONDS) * 1_000,
      isAllowed: () => mayGoOn(context, credentials),
    };
    return {
      status: 200,
      lines: (connection) =>
        context.longAnswers.limit(
          { operation: 'streamListener', accountId, most: MOST_AT_ONCE },
          texts(context.listenerStreams.open(address, options, connection)),
        ),
    };
  },
});

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

const MAX_ANSWERS = 100;
const MAX_BODY_BASE64 = 90_000;
const MAX_HEADERS = 100;

const timingSchema = z.number().min(0).max(3_600_000).optional();

const answerSchema = z
  .strictObject({
    exchange: z.string().max(40),
    status: z.int().min(100).max(999).optional().meta({ description: 'Of the response, if there was one.' }),
    headers: z
      .record(z.string().max(200), z.string().max(8_192))
      .refine(
        (headers) => Object.keys(headers).length <= MAX_HEADERS,
        `must have at most ${MAX_HEADERS} members`,
      )
      .optional()
      .meta({ description: 'Of the response. Names in lower case.' }),
    body_base64: z
      .string()
      .max(MAX_BODY_BASE64)
      .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be Base64')
      .optional()
      .meta({ description: 'The beginning of the response’s body.', example: 'b2s=' }),
    outcome: z
      .enum(forwardFailures)
      .optional()
      .meta({ description: 'What went wrong, if there was no response.' }),
    error: z.string().max(500).optional().describe('What went wrong, for people, if there was no response.'),
    dns_ms: timingSchema,
    connect_ms: timingSchema,
    tls_ms: timingSchema,
    first_byte_ms: timingSchema,
  })
  .refine(({ status, outcome }) => (status === undefined) !== (outcome === undefined), {
    message: 'must have either "status" or "outcome"',
  })
  .meta({ id: 'ListenerAnswer' });

const responseSchema = z
  .strictObject({
    stream: z.string().max(40).meta({ description: 'As the line `ready` has told it.' }),
    answers: z.array(answerSchema).max(MAX_ANSWERS),
  })
  .meta({ id: 'ListenerAnswers' });

/** An empty list is a sign of life, due every five seconds. */
export const answerListener = defineRoute({
  operationId: 'answerListener',
  summary: 'Say what came of deliveries that a listener was given',
  method: 'post',
  path: '/v1/listeners/:id/answers',
  scope: 'webhooks:write',
  audit: {
    notAudited:
      'It carries the answers of a receiver to a connected client, as a worker records those of all others.',
  },
  request: {
    params: listenerParams,
    body: responseSchema,
    example: { stream: '9f3c1b0e-5a53-4c4c-9a0e-0d5f7b1f2a11', answers: [{ exchange: '1', status: 204 }] },
  },
  responses: { 204: { description: 'They were passed on.' } },
  problems: ['conflict'],
  async handle({ apiKey: { accountId }, params: { id: endpointId }, body: { stream, answers } }, context) {
    await context.listenerStreams.answer({ accountId, endpointId }, stream, answers.map(toAnswer));
    return { status: 204 };
  },
});

function toAnswer(sent: z.infer<typeof answerSchema>): ListenerAnswer {
  const { exchange, status, headers = {}, body_base64: body = '', outcome, error } = sent;
  const timings = timingsOf(sent);
  return outcome === undefined
    ? { kind: 'answered', exchange, status: status ?? 0, headers, body, timings }
    : { kind: 'failed', exchange, reason: outcome, error: error ?? outcome, timings };
}

function timingsOf({ dns_ms, connect_ms, tls_ms, first_byte_ms }: z.infer<typeof answerSchema>) {
  return {
    ...(dns_ms === undefined ? {} : { dnsMs: dns_ms }),
    ...(connect_ms === undefined ? {} : { connectMs: connect_ms }),
    ...(tls_ms === undefined ? {} : { tlsMs: tls_ms }),
    ...(first_byte_ms === undefined ? {} : { firstByteMs: first_byte_ms }),
  };
}

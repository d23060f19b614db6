import { endpointIdSchema } from '@hookferry/core/domain/endpoint';
import { requestFailures } from '@hookferry/core/domain/network-failures';
import { listenerMembers, renameMembers } from '@hookferry/core/endpoints/endpoint-input';
import type { ListenerAnswer } from '@hookferry/core/listeners/listener-message';
import { endReasons, type ListenerLine } from '@hookferry/core/listeners/listener-stream';
import type { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import type { Listeners } from '@hookferry/core/listeners/listeners';
import { sentTimeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { credentialsIn, mayGoOn } from '../http/long-requests';
import { limitSchema } from '../http/page';
import { defineRoute } from '../http/route';
import { presentWebhook, webhookSchema } from './present-webhook';
import { secretOf, secretViewSchema } from './webhook-secrets';

/** What the routes of listeners call beside the core. */
export interface ListenerModules {
  readonly listeners: Listeners;
  readonly listenerStreams: ListenerStreams;
}

const listenerParams = z.object({ id: endpointIdSchema });

const NAME_FORM = 'must be 1 to 63 of a-z 0-9 - and begin and end with a letter or digit';

const bodySchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, NAME_FORM)
      .describe(
        'The name of the listener: 1 to 63 lower-case letters, digits and hyphens. A request with the name of an existing listener returns that one.',
      ),
    ...listenerMembers,
    since: sentTimeSchema
      .optional()
      .describe('Also send events that were accepted at this time or later. Default: only new events.'),
  })
  .transform(renameMembers)
  .meta({ id: 'NewListener' });

const listenerSchema = webhookSchema.extend(secretViewSchema.shape).meta({ id: 'Listener' });

/**
 * Shows the secret of an existing one. Not `creates`: its name identifies it, however often it is requested.
 */
export const createListener = defineRoute({
  operationId: 'createListener',
  summary: 'Create or continue a listener',
  method: 'post',
  path: '/v1/listeners',
  scope: 'webhooks:write',
  audit: 'listener.create',
  handlesSecret: true,
  request: { body: bodySchema, example: { name: 'my-laptop', events: ['order.*'], ordering: 'strict' } },
  stores: 'other',
  responses: {
    200: { description: 'The listener that had this name, as it is now.', schema: listenerSchema },
    201: {
      description:
        'The listener: a webhook whose deliveries go to a client of `GET /v1/listeners/{id}/stream`.',
      schema: listenerSchema,
    },
  },
  problems: ['conflict', 'limit_reached', 'replays_running'],
  async handle({ apiKey, body, act }, { listeners }: ListenerModules) {
    const { endpoint, isNew } = await listeners.create(apiKey.accountId, body, act);
    return {
      status: isNew ? 201 : 200,
      body: { ...presentWebhook(endpoint), secret: secretOf(endpoint) },
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
    type: z
      .enum(['ready', 'delivery', 'end'])
      .describe(
        'The type of the line. `ready`: the stream has started. `delivery`: a delivery to forward. `end`: the stream ends.',
      ),
    stream: z
      .string()
      .optional()
      .meta({ description: 'The id of the stream, which responses must name. Present with `ready`.' }),
    exchange: z.string().optional().meta({
      description:
        'The id of this delivery in the stream, which its response must name. Present with `delivery`.',
    }),
    headers: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'The headers of the request to forward. Present with `delivery`.' }),
    body_base64: z
      .string()
      .optional()
      .meta({ description: 'The body of the request to forward, in base64. Present with `delivery`.' }),
    timeout_ms: z
      .int()
      .optional()
      .describe('How many milliseconds the attempt may take. Present with `delivery`.'),
    response_bytes: z
      .int()
      .optional()
      .meta({ description: 'How many bytes of the body of the response are kept. Present with `delivery`.' }),
    reason: z.enum(endReasons).optional().meta({
      description: 'Why the stream ends. Present with `end`. After `replaced`, do not connect again.',
    }),
  })
  .meta({ id: 'ListenerLine' });

/** Stays open: a line for each delivery, as soon as it is due. */
export const streamListener = defineRoute({
  operationId: 'streamListener',
  summary: 'Stream the deliveries of a listener, one on each line',
  method: 'get',
  path: '/v1/listeners/:id/stream',
  scope: SCOPE,
  // It shows all headers of each delivery, with their values.
  handlesSecret: true,
  request: {
    params: listenerParams,
    query: z.strictObject({
      parallel: limitSchema(MAX_PARALLEL)
        .default(DEFAULT_PARALLEL)
        .describe('How many deliveries may wait for a response at once: 1 to 100. Default: 10.'),
      max_seconds: limitSchema(MAX_SECONDS)
        .optional()
        .describe(
          'After how many seconds the stream ends: 1 to 86,400. Connect again then. Default: 86,400.',
        ),
    }),
  },
  responses: {
    200: {
      description:
        'Lines of JSON (NDJSON), until either side closes the connection. The schema describes one line.',
      schema: lineSchema,
      isLines: true,
    },
  },
  async handle(
    { apiKey: { accountId }, params: { id: endpointId }, query, header },
    core: ApiContext & ListenerModules,
  ) {
    const address = { accountId, endpointId };
    const credentials = credentialsIn(header, SCOPE);
    const options = {
      parallel: query.parallel,
      maxMs: (query.max_seconds ?? MAX_SECONDS) * 1_000,
      isAllowed: () => mayGoOn(core.authentication, credentials),
    };
    return {
      status: 200,
      lines: (connection) =>
        core.longAnswers.limit(
          { operation: 'streamListener', accountId, most: MOST_AT_ONCE },
          texts(core.listenerStreams.open(address, options, connection)),
        ),
    };
  },
});

async function* texts(lines: AsyncIterable<ListenerLine>): AsyncGenerator<string, void> {
  for await (const line of lines) yield `${JSON.stringify(present(line))}\n`;
}

function present(line: ListenerLine): z.infer<typeof lineSchema> {
  if (line.kind !== 'delivery') {
    const { kind: type, ...rest } = line;
    return { type, ...rest };
  }
  const { headers, body, timeoutMs, keptBytes } = line.request;
  return {
    type: 'delivery',
    exchange: line.exchange,
    headers: { ...headers },
    body_base64: Buffer.from(body).toString('base64'),
    timeout_ms: timeoutMs,
    response_bytes: keptBytes,
  };
}

const MAX_RESPONSES = 100;
const MAX_BODY_BASE64 = 90_000;
const MAX_HEADERS = 100;

const timingSchema = z.number().min(0).max(3_600_000).optional();

const responseSchema = z
  .strictObject({
    exchange: z.string().max(40).describe('The delivery, as `exchange` of its line named it.'),
    status: z
      .int()
      .min(100)
      .max(999)
      .optional()
      .describe('The HTTP status of the response. Give either `status` or `outcome`.'),
    headers: z
      .record(z.string().max(200), z.string().max(8_192))
      .refine(
        (headers) => Object.keys(headers).length <= MAX_HEADERS,
        `must have at most ${MAX_HEADERS} members`,
      )
      .optional()
      .meta({ description: 'The headers of the response: at most 100, with their names in lower case.' }),
    body_base64: z
      .string()
      .max(MAX_BODY_BASE64)
      .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be Base64')
      .optional()
      .meta({ description: 'The beginning of the body of the response, in base64.', example: 'b2s=' }),
    outcome: z
      .enum(requestFailures)
      .optional()
      .meta({ description: 'The way in which the request failed, if there was no response.' }),
    error: z
      .string()
      .max(500)
      .optional()
      .describe('The reason of the failure in words, if there was no response. At most 500 characters.'),
    dns_ms: timingSchema.describe('Milliseconds that looking up the name took.'),
    connect_ms: timingSchema.describe('Milliseconds that the TCP handshake took.'),
    tls_ms: timingSchema.describe('Milliseconds that the TLS handshake took.'),
    first_byte_ms: timingSchema.describe(
      'Milliseconds from the end of the request to the first byte of the response.',
    ),
  })
  .refine(({ status, outcome }) => (status === undefined) !== (outcome === undefined), {
    message: 'must have either "status" or "outcome"',
  })
  .meta({ id: 'ListenerResponse' });

const responsesSchema = z
  .strictObject({
    stream: z.string().max(40).meta({ description: 'The id of the stream, from its line `ready`.' }),
    responses: z
      .array(responseSchema)
      .max(MAX_RESPONSES)
      .describe('The responses: at most 100. An empty list shows that the client is still connected.'),
  })
  .meta({ id: 'ListenerResponses' });

/** An empty list is a sign of life, due every five seconds. */
export const respondToListener = defineRoute({
  operationId: 'respondToListener',
  summary: 'Pass on the responses to deliveries of a listener',
  method: 'post',
  path: '/v1/listeners/:id/responses',
  scope: 'webhooks:write',
  audit: {
    notAudited:
      'It carries the responses of a receiver to a connected client, as a worker records those of all others.',
  },
  request: {
    params: listenerParams,
    body: responsesSchema,
    example: { stream: '9f3c1b0e-5a53-4c4c-9a0e-0d5f7b1f2a11', responses: [{ exchange: '1', status: 204 }] },
  },
  responses: { 204: { description: 'The responses were passed on to the workers.' } },
  problems: ['conflict'],
  async handle(
    { apiKey: { accountId }, params: { id: endpointId }, body: { stream, responses } },
    { listenerStreams }: ListenerModules,
  ) {
    await listenerStreams.answer({ accountId, endpointId }, stream, responses.map(toAnswer));
    return { status: 204 };
  },
});

function toAnswer(sent: z.infer<typeof responseSchema>): ListenerAnswer {
  const { exchange, status, headers = {}, body_base64: body = '', outcome, error } = sent;
  const timings = timingsOf(sent);
  return outcome === undefined
    ? { kind: 'answered', exchange, status: status ?? 0, headers, body, timings }
    : { kind: 'failed', exchange, reason: outcome, error: error ?? outcome, timings };
}

function timingsOf({ dns_ms, connect_ms, tls_ms, first_byte_ms }: z.infer<typeof responseSchema>) {
  return {
    ...(dns_ms === undefined ? {} : { dnsMs: dns_ms }),
    ...(connect_ms === undefined ? {} : { connectMs: connect_ms }),
    ...(tls_ms === undefined ? {} : { tlsMs: tls_ms }),
    ...(first_byte_ms === undefined ? {} : { firstByteMs: first_byte_ms }),
  };
}

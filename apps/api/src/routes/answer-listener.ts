import { forwardFailures, type ListenerAnswer } from '@hookferry/core/listeners/listener-answer';
import type { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import { z } from 'zod';
import { defineRoute } from '../http/route';
import { listenerParams } from './params';

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
    error: z.string().max(500).optional(),
    dns_ms: timingSchema,
    connect_ms: timingSchema,
    tls_ms: timingSchema,
    first_byte_ms: timingSchema,
  })
  .refine(({ status, outcome }) => (status === undefined) !== (outcome === undefined), {
    message: 'must have either "status" or "outcome"',
  })
  .meta({ id: 'ListenerAnswer' });

const bodySchema = z
  .strictObject({
    stream: z.string().max(40).meta({ description: 'As the line `ready` has told it.' }),
    answers: z.array(answerSchema).max(MAX_ANSWERS),
  })
  .meta({ id: 'ListenerAnswers' });

/** An empty list is a sign of life, due every five seconds. */
export function answerListener(streams: ListenerStreams) {
  return defineRoute({
    operationId: 'answerListener',
    summary: 'Say what came of deliveries that a listener was given',
    method: 'post',
    path: '/v1/listeners/:id/answers',
    scope: 'webhooks:write',
    request: { params: listenerParams, body: bodySchema },
    responses: { 204: { description: 'They were passed on.' } },
    problems: ['conflict'],
    async handle({ apiKey: { accountId }, params: { id: endpointId }, body: { stream, answers } }) {
      await streams.answer({ accountId, endpointId }, stream, answers.map(toAnswer));
      return { status: 204 };
    },
  });
}

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

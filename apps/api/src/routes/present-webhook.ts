import { summarizeCertificate } from '@hookferry/core/endpoints/certificate';
import { MASKED_VALUE } from '@hookferry/core/endpoints/custom-headers';
import { versionOf } from '@hookferry/core/endpoints/endpoint-version';
import { payloadFilterSchema } from '@hookferry/core/endpoints/payload-filter-schema';
import { formatTime, timeSchema } from '@hookferry/core/kernel/clock';
import { formatDuration } from '@hookferry/core/kernel/duration';
import {
  disabledReasons,
  type Endpoint,
  endpointStatusSchema,
  orderings,
} from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { etagOf } from '../http/etag';

const certificateSchema = z
  .object({ subject: z.string(), fingerprint_sha256: z.string(), expires_at: timeSchema })
  .meta({ id: 'Certificate' });

const tlsSchema = z
  .object({ ca: certificateSchema.optional(), client_certificate: certificateSchema.optional() })
  .meta({ id: 'WebhookTls' });

export const webhookSchema = z
  .object({
    id: z.string().meta({ example: 'wh_0n5x3gq9k2v7r1m8c4d6ta' }),
    url: z.string().meta({ format: 'uri', example: 'https://example.com/webhooks' }),
    events: z
      .array(z.string())
      .readonly()
      .meta({ example: ['keyword.quick_win'] }),
    filter: payloadFilterSchema.optional(),
    status: endpointStatusSchema,
    disabled_reason: z.enum(disabledReasons).optional(),
    description: z.string().optional(),
    ordering: z.enum(orderings),
    rate_limit: z.int().optional(),
    max_concurrency: z.int().optional(),
    timeout_ms: z.int().optional(),
    retry_schedule: z.array(z.string().meta({ example: '5m' })).optional(),
    tls: tlsSchema.optional(),
    uid: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    headers: z.record(z.string(), z.literal(MASKED_VALUE)).optional(),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .meta({ id: 'Webhook' });

/** An endpoint as clients see it. Its secrets and its private key are not part of it. */
export function presentWebhook(endpoint: Endpoint): z.infer<typeof webhookSchema> {
  const { id, url, events, status, disabledReason, description, ordering, createdAt, updatedAt } = endpoint;
  const { filter, uid, metadata, headers, rateLimit, maxConcurrency, timeoutMs, retrySchedule, tls } =
    endpoint;
  return {
    id,
    url,
    events,
    ...(filter === undefined ? {} : { filter: JSON.parse(filter) as unknown }),
    status,
    ...(disabledReason === undefined ? {} : { disabled_reason: disabledReason }),
    ...(description === undefined ? {} : { description }),
    ordering,
    ...(rateLimit === undefined ? {} : { rate_limit: rateLimit }),
    ...(maxConcurrency === undefined ? {} : { max_concurrency: maxConcurrency }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(retrySchedule === undefined ? {} : { retry_schedule: retrySchedule.map(formatDuration) }),
    ...(tls === undefined ? {} : { tls: presentTls(tls) }),
    ...(uid === undefined ? {} : { uid }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(headers === undefined ? {} : { headers: masked(headers) }),
    created_at: formatTime(createdAt),
    updated_at: formatTime(updatedAt),
  };
}

function presentTls({ ca, certificate }: NonNullable<Endpoint['tls']>) {
  return {
    ...(ca === undefined ? {} : { ca: presentCertificate(ca) }),
    ...(certificate === undefined ? {} : { client_certificate: presentCertificate(certificate) }),
  };
}

function presentCertificate(pem: string) {
  const { subject, fingerprintSha256, expiresAt } = summarizeCertificate(pem);
  return { subject, fingerprint_sha256: fingerprintSha256, expires_at: formatTime(expiresAt) };
}

/** By it a client can say which state of the endpoint its change is meant for. */
export function tagOf(endpoint: Endpoint) {
  return { etag: etagOf(versionOf(endpoint)) };
}

// They may well be credentials of the receiver.
function masked(headers: Readonly<Record<string, string>>): Record<string, typeof MASKED_VALUE> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASKED_VALUE]));
}

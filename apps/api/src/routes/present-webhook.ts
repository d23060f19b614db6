import { breakerPhases } from '@hookferry/core/domain/breaker';
import { disabledReasons, type Endpoint, endpointStatusSchema } from '@hookferry/core/domain/endpoint';
import { camelCase, type SettingName, settingsBut } from '@hookferry/core/domain/endpoint-settings';
import type { OAuth2, ReceiverAuth } from '@hookferry/core/domain/receiver-auth';
import { shownSettings } from '@hookferry/core/domain/setting-schemas';
import {
  verificationErrorSchema,
  verificationMethods,
  verificationStatusSchema,
} from '@hookferry/core/domain/verification';
import { versionOf } from '@hookferry/core/endpoints/endpoint-input';
import { MASKED_VALUE } from '@hookferry/core/endpoints/endpoint-options';
import { payloadFilterSchema } from '@hookferry/core/endpoints/filters/payload-filter';
import { concurrencyReasons, type Health } from '@hookferry/core/endpoints/health/read-health';
import { AUTH_TYPES } from '@hookferry/core/endpoints/receiver-auth';
import { summarizeCertificate } from '@hookferry/core/endpoints/tls/certificate';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { z } from 'zod';
import { etagOf } from '../http/send-reply';

const certificateSchema = z
  .object({
    subject: z.string(),
    fingerprint_sha256: z.string(),
    expires_at: timeSchema.describe('When the certificate stops being valid.'),
  })
  .meta({ id: 'Certificate' });

const tlsSchema = z
  .object({ ca: certificateSchema.optional(), client_certificate: certificateSchema.optional() })
  .meta({ id: 'WebhookTls' });

const authSchema = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('oauth2').describe(AUTH_TYPES.oauth2),
        token_url: z.string().meta({ format: 'uri', example: 'https://auth.example.com/token' }),
        client_id: z.string(),
        credential: z
          .enum(['client_secret', 'private_key'])
          .describe('Which of the two it was given. No answer shows it.'),
        scope: z.string().optional(),
        audience: z.string().optional(),
      })
      .meta({ id: 'OAuth2Auth' }),
    z
      .object({ type: z.literal('basic').describe(AUTH_TYPES.basic), username: z.string() })
      .meta({ id: 'BasicAuth' }),
    z.object({ type: z.literal('bearer').describe(AUTH_TYPES.bearer) }).meta({ id: 'BearerAuth' }),
  ])
  .meta({ id: 'WebhookAuth' });

/** Whether its receiver has proved that it wants what is sent there. */
const verificationSchema = z
  .object({
    status: verificationStatusSchema.describe(
      '`unverified`: the first try is to come; `pending`: one failed and another is to come; `verified`; `failed`: none is to come by itself.',
    ),
    method: z
      .enum([...verificationMethods, 'none'])
      .describe('How it is proved; `none`: nobody asked for it, and the webhook counts as verified.'),
    error: verificationErrorSchema.optional().describe('Why the last try failed.'),
    verified_at: timeSchema.optional(),
  })
  .meta({ id: 'WebhookVerification' });

const { description, ordering, uid, ...otherSettings } = shownSettings;

export const webhookSchema = z
  .object({
    id: z.string().meta({ example: 'wh_0n5x3gq9k2v7r1m8c4d6ta' }).describe("The webhook's id."),
    url: z.string().meta({ format: 'uri', example: 'https://example.com/webhooks' }),
    events: z
      .array(z.string())
      .readonly()
      .meta({ example: ['keyword.quick_win'] }),
    filter: payloadFilterSchema.optional(),
    status: endpointStatusSchema.describe('`enabled`, or `disabled`: its deliveries are held.'),
    disabled_reason: z.enum(disabledReasons).optional(),
    description,
    ordering,
    ...otherSettings,
    tls: tlsSchema.optional(),
    uid,
    metadata: z.record(z.string(), z.string()).optional(),
    headers: z.record(z.string(), z.literal(MASKED_VALUE)).optional(),
    auth: authSchema.optional(),
    transformation: z
      .object({
        version: z.int().describe('Of its code.'),
        enabled: z.boolean().describe('Whether deliveries go through it.'),
      })
      .optional()
      .describe('The code that makes what is sent, where it has any.'),
    verification: verificationSchema,
    created_at: timeSchema.describe('When the webhook was registered.'),
    updated_at: timeSchema,
  })
  .meta({ id: 'Webhook' });

/** An endpoint as clients see it, without its secrets and its private key. */
export function presentWebhook(endpoint: Endpoint): z.infer<typeof webhookSchema> {
  const { id, url, events, filter, status, disabledReason, tls, metadata, headers, auth } = endpoint;
  const { transformation } = endpoint;
  return {
    id,
    url,
    events,
    ...(filter === undefined ? {} : { filter: JSON.parse(filter) as unknown }),
    status,
    ...(disabledReason === undefined ? {} : { disabled_reason: disabledReason }),
    ...presentSettings(endpoint, 'description', 'ordering', ...settingsBut('description', 'ordering', 'uid')),
    ...(tls === undefined ? {} : { tls: presentTls(tls) }),
    ...presentSettings(endpoint, 'uid'),
    ...(metadata === undefined ? {} : { metadata }),
    ...(headers === undefined ? {} : { headers: masked(headers) }),
    ...(auth === undefined ? {} : { auth: presentAuth(auth) }),
    ...(transformation === undefined
      ? {}
      : { transformation: { version: transformation.version, enabled: transformation.isEnabled } }),
    verification: presentVerification(endpoint),
    created_at: formatTime(endpoint.createdAt),
    updated_at: formatTime(endpoint.updatedAt),
  };
}

function presentVerification({ verification }: Endpoint): z.infer<typeof verificationSchema> {
  if (verification === undefined) return { status: 'verified', method: 'none' };
  const { status, method, error, verifiedAt } = verification;
  return {
    status,
    method,
    ...(error === undefined ? {} : { error }),
    ...(verifiedAt === undefined ? {} : { verified_at: formatTime(verifiedAt) }),
  };
}

type ShownSettings = z.infer<z.ZodObject<typeof shownSettings>>;

/** Those of these settings that the endpoint has, in this order. */
function presentSettings<Name extends SettingName>(endpoint: Endpoint, ...names: readonly Name[]) {
  const present = names.flatMap((name) => {
    const value = endpoint[camelCase(name)];
    return value === undefined ? [] : [[name, Array.isArray(value) ? value.map(formatDuration) : value]];
  });
  return Object.fromEntries(present) as Pick<ShownSettings, Name>;
}

function presentTls({ ca, certificate }: NonNullable<Endpoint['tls']>) {
  return {
    ...(ca === undefined ? {} : { ca: presentCertificate(ca) }),
    ...(certificate === undefined ? {} : { client_certificate: presentCertificate(certificate) }),
  };
}

/** Named one by one: a secret that is added later is not shown because nobody thought of it. */
function presentAuth(auth: ReceiverAuth): z.infer<typeof authSchema> {
  if (auth.type === 'oauth2') return presentOAuth2(auth);
  return auth.type === 'basic' ? { type: auth.type, username: auth.username } : { type: auth.type };
}

function presentOAuth2({ type, tokenUrl, clientId, clientSecret, scope, audience }: OAuth2) {
  return {
    type,
    token_url: tokenUrl,
    client_id: clientId,
    credential: clientSecret === undefined ? ('private_key' as const) : ('client_secret' as const),
    ...(scope === undefined ? {} : { scope }),
    ...(audience === undefined ? {} : { audience }),
  };
}

function presentCertificate(pem: string) {
  const { subject, fingerprintSha256, expiresAt } = summarizeCertificate(pem);
  return { subject, fingerprint_sha256: fingerprintSha256, expires_at: formatTime(expiresAt) };
}

/** With it, a client names the state of the endpoint that its change is meant for. */
export function tagOf(endpoint: Endpoint) {
  return { etag: etagOf(versionOf(endpoint)) };
}

// They may be credentials of the receiver.
function masked(headers: Readonly<Record<string, string>>): Record<string, typeof MASKED_VALUE> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASKED_VALUE]));
}

const p95Schema = z.number().min(0).nullable();

const healthHourSchema = z
  .object({ at: timeSchema, successes: z.int(), failures: z.int(), p95_ms: p95Schema })
  .meta({ id: 'HealthHour' });

const concurrencySchema = z
  .object({
    limit: z.int().min(0).describe('How many it may be, all these workers together.'),
    workers: z
      .int()
      .min(1)
      .describe('How many workers have ended an attempt at it within about the last minute.'),
    reason: z
      .enum(concurrencyReasons)
      .describe(
        '`max_concurrency`: as many as it lets itself have; `adaptive`: as many as it has shown to bear.',
      ),
  })
  .meta({ id: 'HealthConcurrency' });

export const healthSchema = z
  .object({
    attempts_24h: z.int(),
    success_rate: z.number().min(0).max(1).nullable(),
    p95_ms: p95Schema,
    last_success_at: timeSchema.nullable(),
    last_failure_at: timeSchema.nullable(),
    breaker: z.enum(breakerPhases),
    breaker_open_until: timeSchema
      .nullable()
      .describe('When it is tried again; null: its breaker is not open.'),
    disabled_from: timeSchema
      .nullable()
      .describe(
        'Another failure at this time or later disables it; null: it does not fail, or it is never disabled for that.',
      ),
    held: z.int(),
    concurrency: concurrencySchema
      .nullable()
      .describe(
        'How many attempts may be under way at it at once, as of now; null: no worker has tried it lately.',
      ),
    hours: z.array(healthHourSchema),
  })
  .meta({ id: 'Health' });

// Enough to show one failure in ten thousand.
const RATE_DIGITS = 4;
// It is known to within an eighth.
const DURATION_DIGITS = 2;

/** The health of an endpoint, as clients see it. */
export function presentHealth(health: Health): z.infer<typeof healthSchema> {
  return {
    attempts_24h: health.attempts,
    success_rate: health.successRate === undefined ? null : Number(health.successRate.toFixed(RATE_DIGITS)),
    p95_ms: presentP95(health.p95Ms),
    last_success_at: formatTimeOrNull(health.lastSuccessAt),
    last_failure_at: formatTimeOrNull(health.lastFailureAt),
    breaker: health.breaker,
    breaker_open_until: formatTimeOrNull(health.openUntil),
    disabled_from: formatTimeOrNull(health.disabledFrom),
    held: health.held,
    concurrency: health.concurrency ?? null,
    hours: health.hours.map(({ at, successes, failures, p95Ms }) => ({
      at: formatTime(at),
      successes,
      failures,
      p95_ms: presentP95(p95Ms),
    })),
  };
}

function presentP95(p95Ms: number | undefined): number | null {
  return p95Ms === undefined ? null : Number(p95Ms.toPrecision(DURATION_DIGITS));
}

import { attemptOutcomeSchema } from '@hookferry/core/domain/attempt';
import { breakerPhases } from '@hookferry/core/domain/breaker';
import { DELIVERY_ID_FORM, deliveryIdOf } from '@hookferry/core/domain/delivery';
import {
  disabledReasons,
  type Endpoint,
  type EndpointId,
  endpointStatusSchema,
} from '@hookferry/core/domain/endpoint';
import {
  camelCase,
  type SettingName,
  settingOf,
  settingsBut,
} from '@hookferry/core/domain/endpoint-settings';
import { shownSettings } from '@hookferry/core/domain/setting-schemas';
import {
  verificationErrorSchema,
  verificationMethods,
  verificationStatuses,
} from '@hookferry/core/domain/verification';
import { ENDPOINT_MEMBERS, versionOf } from '@hookferry/core/endpoints/endpoint-input';
import { MASKED_VALUE } from '@hookferry/core/endpoints/endpoint-options';
import { payloadFilterSchema } from '@hookferry/core/endpoints/filters/payload-filter';
import type { FailedAttempt } from '@hookferry/core/endpoints/health/attempt-tally';
import { concurrencyReasons, type Health } from '@hookferry/core/endpoints/health/endpoint-health';
import { presentAuth, shownAuthSchema } from '@hookferry/core/endpoints/receiver-auth';
import { summarizeCertificate } from '@hookferry/core/endpoints/tls/certificate';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { z } from 'zod';
import { etagOf } from '../http/send-reply';

const certificateSchema = z
  .object({
    subject: z.string().describe('The subject of the certificate: the name of its owner.'),
    fingerprint_sha256: z.string().describe('The SHA-256 fingerprint of the certificate.'),
    expires_at: timeSchema.describe('When the certificate expires.'),
  })
  .meta({ id: 'Certificate' });

const tlsSchema = z
  .object({
    ca: certificateSchema
      .nullable()
      .describe("The authority that must have signed the receiver's certificate. Null: the public ones."),
    client_certificate: certificateSchema
      .nullable()
      .describe('The certificate that the service shows to the receiver. Null: none.'),
  })
  .meta({ id: 'WebhookTls' });

/** Whether the receiver has proved that it wants the requests. */
const verificationSchema = z
  .object({
    status: z
      .enum(['not_required', ...verificationStatuses])
      .describe(
        '`not_required`: no proof is needed. `unverified`: the first try has not ended yet. `pending`: a try failed, and another one follows. `verified`: the receiver has proved it. `failed`: the last try failed, and no other one follows.',
      ),
    method: z
      .enum(verificationMethods)
      .nullable()
      .describe('How the receiver proves it. Null: no proof is needed.'),
    error: verificationErrorSchema.nullable().describe('Why the last try failed. Null: it has not failed.'),
    verified_at: timeSchema.nullable().describe('When the receiver proved it. Null: it has not.'),
  })
  .meta({ id: 'WebhookVerification' });

const { description, ordering, uid, ...otherSettings } = shownSettings;

export const webhookSchema = z
  .object({
    id: z.string().meta({ example: 'wh_0n5x3gq9k2v7r1m8c4d6ta' }).describe("The webhook's id."),
    url: z
      .string()
      .meta({ format: 'uri', example: 'https://example.com/webhooks' })
      .describe(ENDPOINT_MEMBERS.url),
    events: z
      .array(z.string())
      .readonly()
      .meta({ example: ['order.created'] })
      .describe(ENDPOINT_MEMBERS.events),
    filter: payloadFilterSchema.nullable().describe(ENDPOINT_MEMBERS.filter),
    status: endpointStatusSchema.describe(
      '`enabled`: deliveries are sent. `disabled`: nothing is sent. Deliveries are held until it is enabled, or discarded, as `while_disabled` says.',
    ),
    disabled_reason: z
      .enum(disabledReasons)
      .nullable()
      .describe(
        'Why it is disabled. `client`: by request. `gone`: the receiver responded with 410. `receiver`: the receiver asked for it. `failing`: every attempt failed for too long. `disconnected`: no client of the listener is connected. `operator`: the operator paused the account. Null: it is enabled.',
      ),
    description,
    ordering,
    ...otherSettings,
    tls: tlsSchema.nullable().describe('Its certificates. Null: it has none of its own.'),
    uid,
    metadata: z.record(z.string(), z.string()).nullable().describe(ENDPOINT_MEMBERS.metadata),
    headers: z
      .record(z.string(), z.literal(MASKED_VALUE))
      .nullable()
      .describe('The headers that each request to it carries. Each value is masked.'),
    auth: shownAuthSchema
      .nullable()
      .describe('What its requests carry in `Authorization`, without the secrets. Null: nothing.'),
    transformation: z
      .object({
        version: z.int().describe('The version of the code.'),
        enabled: z.boolean().describe('Whether deliveries use it.'),
      })
      .nullable()
      .describe('The transformation: code that makes the body of its requests. Null: it has none.'),
    verification: verificationSchema.describe('Whether the receiver has proved that it wants the requests.'),
    created_at: timeSchema.describe('When the webhook was registered.'),
    updated_at: timeSchema.describe('When the webhook was last changed.'),
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
    filter: filter === undefined ? null : (JSON.parse(filter) as unknown),
    status,
    disabled_reason: disabledReason ?? null,
    ...presentSettings(endpoint, 'description', 'ordering', ...settingsBut('description', 'ordering', 'uid')),
    tls: tls === undefined ? null : presentTls(tls),
    ...presentSettings(endpoint, 'uid'),
    metadata: metadata ?? null,
    headers: headers === undefined ? null : masked(headers),
    auth: auth === undefined ? null : presentAuth(auth),
    transformation:
      transformation === undefined
        ? null
        : { version: transformation.version, enabled: transformation.isEnabled },
    verification: presentVerification(endpoint),
    created_at: formatTime(endpoint.createdAt),
    updated_at: formatTime(endpoint.updatedAt),
  };
}

function presentVerification({ verification }: Endpoint): z.infer<typeof verificationSchema> {
  if (verification === undefined) {
    return { status: 'not_required', method: null, error: null, verified_at: null };
  }
  const { status, method, error, verifiedAt } = verification;
  return { status, method, error: error ?? null, verified_at: formatTimeOrNull(verifiedAt) };
}

type ShownSettings = z.infer<z.ZodObject<typeof shownSettings>>;

/** These settings of the endpoint, in this order. */
function presentSettings<Name extends SettingName>(endpoint: Endpoint, ...names: readonly Name[]) {
  const present = names.map((name) => [name, presentSetting(name, endpoint[camelCase(name)])]);
  return Object.fromEntries(present) as Pick<ShownSettings, Name>;
}

function presentSetting(name: SettingName, value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(formatDuration);
  const setting = settingOf(name);
  if (setting.kind !== 'group') return value;
  const none = Object.fromEntries(Object.keys(setting.members).map((member) => [member, null]));
  return { ...none, ...(value as object) };
}

function presentTls({ ca, certificate }: NonNullable<Endpoint['tls']>) {
  return {
    ca: ca === undefined ? null : presentCertificate(ca),
    client_certificate: certificate === undefined ? null : presentCertificate(certificate),
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

const p95Schema = z
  .number()
  .min(0)
  .nullable()
  .describe(
    '95 % of the attempts took at most so many milliseconds, to within an eighth. Null: there were none.',
  );

const healthHourSchema = z
  .object({
    starts_at: timeSchema.describe('When the hour begins.'),
    successes: z.int().describe('How many attempts of the hour were accepted.'),
    failures: z.int().describe('How many attempts of the hour failed.'),
    p95_ms: p95Schema,
  })
  .meta({ id: 'HealthHour' });

const concurrencySchema = z
  .object({
    limit: z.int().min(0).describe('The number of attempts, in all these workers together.'),
    workers: z
      .int()
      .min(1)
      .describe('How many workers have finished an attempt to it within about the last minute.'),
    reason: z
      .enum(concurrencyReasons)
      .describe(
        '`max_concurrency`: the setting of the webhook is the limit. `adaptive`: the service has measured how many attempts the receiver bears.',
      ),
  })
  .meta({ id: 'HealthConcurrency' });

const lastFailureSchema = z
  .object({
    delivery_id: z.string().meta(DELIVERY_ID_FORM).describe('The delivery.'),
    attempt_number: z.int().describe('Which of its attempts: 1 is the first.'),
    outcome: attemptOutcomeSchema.describe('How the attempt ended.'),
    response_status: z.int().nullable().describe('The status of the response. Null: there was none.'),
  })
  .meta({ id: 'LastFailure' });

export const healthSchema = z
  .object({
    attempts_24h: z.int().describe('How many attempts there were in the last 24 hours.'),
    success_rate: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe(
        'The share of the attempts of the last 24 hours that were accepted: 0 to 1, cut after the fourth digit: it is 1 only if none failed. Null: there were none.',
      ),
    p95_ms: p95Schema,
    last_success_at: timeSchema.nullable().describe('When an attempt was last accepted. Null: never.'),
    last_failure_at: timeSchema.nullable().describe('When an attempt last failed. Null: never.'),
    last_failure: lastFailureSchema
      .nullable()
      .describe('The attempt that failed last. Null: none has failed, or it is not known which.'),
    breaker: z
      .enum(breakerPhases)
      .describe(
        'The circuit breaker. `closed`: deliveries are sent. `open`: they are held after a run of failures. `half_open`: one delivery is sent as a trial.',
      ),
    breaker_retry_at: timeSchema
      .nullable()
      .describe('When the next trial is due. Null: its breaker is not open.'),
    disables_at: timeSchema
      .nullable()
      .describe(
        'A failure at this time or later disables the webhook. Null: it does not fail, or failures never disable it.',
      ),
    held: z.int().describe('How many of its deliveries are held. They use no attempts while they wait.'),
    concurrency: concurrencySchema
      .nullable()
      .describe('How many attempts to it may run at once at present. Null: no worker has made one lately.'),
    hours: z.array(healthHourSchema).describe('Each of the last 24 hours, the oldest first.'),
  })
  .meta({ id: 'Health' });

// Enough to show one failure in ten thousand.
const RATE_STEPS = 10_000;
// 0.57 × 10,000 is a little less than 5,700.
const INEXACT = 1e-6;

/** Cut, not rounded: it is 1 only where nothing failed. */
const cutRate = (rate: number) => Math.floor(rate * RATE_STEPS + INEXACT) / RATE_STEPS;

// It is known to within an eighth.
const DURATION_DIGITS = 2;

function presentLastFailure(
  failed: FailedAttempt | undefined,
  endpointId: EndpointId,
): z.infer<typeof lastFailureSchema> | null {
  if (failed === undefined) return null;
  const { eventId, number, outcome, status } = failed;
  return {
    delivery_id: deliveryIdOf({ eventId, endpointId }),
    attempt_number: number,
    outcome,
    response_status: status ?? null,
  };
}

/** The health of an endpoint, as clients see it. */
export function presentHealth(health: Health, id: EndpointId): z.infer<typeof healthSchema> {
  return {
    attempts_24h: health.attempts,
    success_rate: health.successRate === undefined ? null : cutRate(health.successRate),
    p95_ms: presentP95(health.p95Ms),
    last_success_at: formatTimeOrNull(health.lastSuccessAt),
    last_failure_at: formatTimeOrNull(health.lastFailure?.at),
    last_failure: presentLastFailure(health.lastFailure?.attempt, id),
    breaker: health.breaker,
    breaker_retry_at: formatTimeOrNull(health.openUntil),
    disables_at: formatTimeOrNull(health.disabledFrom),
    held: health.held,
    concurrency: health.concurrency ?? null,
    hours: health.hours.map(({ at, successes, failures, p95Ms }) => ({
      starts_at: formatTime(at),
      successes,
      failures,
      p95_ms: presentP95(p95Ms),
    })),
  };
}

function presentP95(p95Ms: number | undefined): number | null {
  return p95Ms === undefined ? null : Number(p95Ms.toPrecision(DURATION_DIGITS));
}

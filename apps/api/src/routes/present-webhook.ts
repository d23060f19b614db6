import { formatDuration } from '@webhooks/core/config/duration';
import { summarizeCertificate } from '@webhooks/core/endpoints/certificate';
import { MASKED_VALUE } from '@webhooks/core/endpoints/custom-headers';
import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { versionOf } from '@webhooks/core/endpoints/endpoint-version';
import { formatTime } from '@webhooks/core/runtime/clock';
import { etagOf } from '../http/etag';

/** An endpoint as clients see it. Its secrets and its private key are not part of it. */
export function presentWebhook(endpoint: Endpoint) {
  const { id, url, events, status, disabledReason, description, ordering, createdAt, updatedAt } = endpoint;
  const { uid, metadata, headers, rateLimit, timeoutMs, retrySchedule, tls } = endpoint;
  return {
    id,
    url,
    events,
    status,
    ...(disabledReason === undefined ? {} : { disabled_reason: disabledReason }),
    ...(description === undefined ? {} : { description }),
    ordering,
    ...(rateLimit === undefined ? {} : { rate_limit: rateLimit }),
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
function masked(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASKED_VALUE]));
}

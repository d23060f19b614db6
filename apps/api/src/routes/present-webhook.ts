import { formatDuration } from '@webhooks/core/config/duration';
import { summarizeCertificate } from '@webhooks/core/endpoints/certificate';
import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { formatTime } from '@webhooks/core/runtime/clock';

/** An endpoint as clients see it. Its secrets and its private key are not part of it. */
export function presentWebhook(endpoint: Endpoint) {
  const { id, url, events, status, disabledReason, description, ordering, createdAt, updatedAt } = endpoint;
  const { rateLimit, timeoutMs, retrySchedule, tls } = endpoint;
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

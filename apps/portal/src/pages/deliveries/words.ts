import type { AttemptOutcome, DeliveryStatus } from '../../api/delivery-queries';
import type { Tone } from '../../components/badge';

export const statuses: Readonly<Record<DeliveryStatus, readonly [label: string, tone: Tone]>> = {
  pending: ['Pending', 'busy'],
  held: ['Held', 'warning'],
  delivered: ['Delivered', 'good'],
  exhausted: ['Exhausted', 'bad'],
  aborted: ['Aborted', 'bad'],
  cancelled: ['Cancelled', 'neutral'],
  superseded: ['Superseded', 'neutral'],
};

/** In a few words; the page of outcomes says more of each. */
export const outcomes: Readonly<Record<AttemptOutcome, string>> = {
  delivered: 'Delivered',
  http_1xx: 'HTTP 1xx',
  http_3xx: 'Redirect',
  http_4xx: 'HTTP 4xx',
  http_5xx: 'HTTP 5xx',
  blocked_address: 'Blocked address',
  dns_error: 'DNS error',
  connect_refused: 'Connection refused',
  connect_timeout: 'Connect time-out',
  connection_reset: 'Connection reset',
  tls_error: 'TLS error',
  response_timeout: 'Response time-out',
  protocol_error: 'Not valid HTTP',
  transform_error: "The webhook's code failed",
  network_error: 'Network error',
  token_error: 'No access token',
  rejected_in_batch: 'Refused within a batch',
};

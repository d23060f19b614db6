import type { AttemptOutcome, DeliveryStatus, Hold } from '../../api/delivery-queries';
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

/** Why it waits, and for what. @param hold absent: the service does not tell what holds it. */
export function whyHeld(hold: Hold | null | undefined): string {
  return hold ? holds[hold.reason] : 'its webhook can’t take it just now';
}

const holds: Readonly<Record<Hold['reason'], string>> = {
  disabled: 'its webhook is disabled: it is sent once somebody enables that',
  unverified:
    'its webhook is not verified yet: it is sent once the receiver has proved that it wants the requests',
  breaker_open: 'its webhook keeps failing: it is sent once a trial succeeds',
  rate_limited: 'the rate limit of its webhook is reached: it is sent when its turn comes',
  ordering: 'its webhook keeps the order of events: it is sent when the delivery before it has ended',
  no_token:
    'its webhook’s token URL gives no access token: it is sent once there is one, which is tried from time to time',
  batching:
    'its webhook gets several events in one request: it is sent when enough events wait, or its waiting time is over',
  busy: 'as many attempts run as its webhook can take: it is sent when one of them ends',
};

/** Why it waited. */
export const pastHolds: Readonly<Record<Hold['reason'], string>> = {
  disabled: 'its webhook was disabled',
  unverified: 'its webhook was not verified',
  breaker_open: 'its webhook kept failing',
  rate_limited: 'the rate limit of its webhook was reached',
  ordering: 'a delivery before it had not ended',
  no_token: 'there was no access token',
  batching: 'it waited for others to go with',
  busy: 'as many attempts ran as its webhook could take',
};

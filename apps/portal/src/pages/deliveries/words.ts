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
  protocol_error: 'Not HTTP',
  transform_error: "The webhook's code failed",
  network_error: 'Network error',
  token_error: 'No access token',
  rejected_in_batch: 'Not taken, of several in one request',
};

/** Why it waits, and for what. */
export const holds: Readonly<Record<Hold['reason'], string>> = {
  disabled: 'its webhook is disabled: it is sent once somebody enables that',
  unverified:
    'its webhook is not verified yet: it is sent once its receiver has proved that it wants what is sent there',
  breaker_open:
    'its webhook keeps failing: it is sent once the webhook answers again, which is tried now and then',
  rate_limited: 'its webhook gets no more requests than its rate limit allows: it is sent in its turn',
  out_of_turn: 'its webhook is strictly ordered: it is sent when the delivery before it has come to its end',
  no_token:
    'its webhook’s token URL gives no access token: it is sent once there is one, which is asked for now and then',
  batching:
    'its webhook gets several events in one request: it is sent when its time is over, or enough others wait',
  busy: 'as many attempts are under way as its webhook can take: it is sent when one of them ends',
};

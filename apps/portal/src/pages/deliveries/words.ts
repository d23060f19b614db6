import { plural, t } from '@lingui/core/macro';
import type { AttemptOutcome, DeliveryStatus } from '../../api/delivery-queries';
import type { Tone } from '../../components/badge';

export const statuses: Readonly<Record<DeliveryStatus, readonly [label: string, tone: Tone]>> = {
  pending: [t`Pending`, 'busy'],
  held: [t`Held`, 'warning'],
  delivered: [t`Delivered`, 'good'],
  exhausted: [t`Exhausted`, 'bad'],
  aborted: [t`Aborted`, 'bad'],
  cancelled: [t`Cancelled`, 'neutral'],
  superseded: [t`Superseded`, 'neutral'],
};

const counted: Readonly<Record<DeliveryStatus, (count: number) => string>> = {
  pending: (count) => plural(count, { one: '# pending', other: '# pending' }),
  held: (count) => plural(count, { one: '# held', other: '# held' }),
  delivered: (count) => plural(count, { one: '# delivered', other: '# delivered' }),
  exhausted: (count) => plural(count, { one: '# exhausted', other: '# exhausted' }),
  aborted: (count) => plural(count, { one: '# aborted', other: '# aborted' }),
  cancelled: (count) => plural(count, { one: '# cancelled', other: '# cancelled' }),
  superseded: (count) => plural(count, { one: '# superseded', other: '# superseded' }),
};

/** Such as `3 held`. */
export const countOf = (status: DeliveryStatus, count: number) => counted[status](count);

/** In a few words; the page of outcomes says more of each. */
export const outcomes: Readonly<Record<AttemptOutcome, string>> = {
  delivered: t({ message: 'Delivered', context: 'attempts' }),
  http_1xx: 'HTTP 1xx',
  http_3xx: t`Redirect`,
  http_4xx: 'HTTP 4xx',
  http_5xx: 'HTTP 5xx',
  blocked_address: t`Blocked address`,
  dns_error: t`DNS error`,
  connect_refused: t`Connection refused`,
  connect_timeout: t`Connect time-out`,
  connection_reset: t`Connection reset`,
  tls_error: t`TLS error`,
  response_timeout: t`Response time-out`,
  protocol_error: t`Not valid HTTP`,
  transform_error: t`The webhook's code failed`,
  network_error: t`Network error`,
  token_error: t`No access token`,
  rejected_in_batch: t`Refused within a batch`,
};

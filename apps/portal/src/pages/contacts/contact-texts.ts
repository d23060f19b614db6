import type { Contact, Notification, Occasion } from '../../api/contact-queries';
import type { Tone } from '../../components/badge';

export const KINDS: Readonly<Record<Contact['type'], string>> = {
  email: 'Mail',
  slack: 'Slack',
  teams: 'Teams',
  discord: 'Discord',
  webhook: 'Webhook',
};

/** In words of somebody who is to choose; TypeScript says when there is a new one. */
export const OCCASIONS: Readonly<Record<Occasion, string>> = {
  failing: 'A webhook fails',
  disabling_in_24h: 'A webhook will be disabled within 24 hours',
  disabling_in_1h: 'A webhook will be disabled within an hour',
  disabled: 'A webhook was disabled',
  recovered: 'A webhook works again',
  quota_80: '80 % of the storage quota is used',
  quota_100: 'The storage quota is used up',
  dead_letters: 'There are new dead letters',
  certificate_expiring: 'A client certificate expires soon',
  receiver_certificate_expiring: 'A receiver’s certificate expires soon',
  token_failing: 'A webhook gets no access token',
  api_key_expiring: 'An API key expires soon',
  signing_key_rotated: 'The signing key was rotated',
};

export const occasions = Object.keys(OCCASIONS) as Occasion[];

export const TOPICS: Readonly<Record<Notification['topic'], string>> = {
  confirmation: 'Asked to confirm',
  test: 'Test message',
  ...OCCASIONS,
};

export const CONTACT_STATES: Readonly<Record<Contact['status'], readonly [label: string, tone: Tone]>> = {
  unconfirmed: ['Not confirmed yet', 'warning'],
  confirmed: ['Confirmed', 'good'],
  unsubscribed: ['Unsubscribed', 'neutral'],
};

export const MESSAGE_STATES: Readonly<Record<Notification['status'], readonly [label: string, tone: Tone]>> =
  {
    pending: ['To be sent', 'busy'],
    sent: ['Sent', 'good'],
    failed: ['Given up', 'bad'],
    cancelled: ['Not wanted any more', 'neutral'],
  };

export const DIGESTS: Readonly<Record<'' | 'hourly' | 'daily', string>> = {
  '': 'At once',
  hourly: 'Together, every hour',
  daily: 'Together, every day',
};

/** "3 of 13", "All": more has no room in a table. */
export function occasionsText({ occasions: chosen }: Pick<Contact, 'occasions'>): string {
  if (chosen === null || chosen === undefined) return 'All';
  const [only] = chosen;
  return chosen.length === 1 && only ? OCCASIONS[only] : `${chosen.length} of ${occasions.length}`;
}

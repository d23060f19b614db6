import { t } from '@lingui/core/macro';
import type { Contact, Notification, Occasion } from '../../api/contact-queries';
import type { Tone } from '../../components/badge';

export const KINDS: Readonly<Record<Contact['type'], string>> = {
  email: t`Mail`,
  slack: 'Slack', // untranslated: a name
  teams: 'Teams', // untranslated: a name
  discord: 'Discord', // untranslated: a name
  webhook: t`Webhook`,
};

/** In words of somebody who is to choose; TypeScript says when there is a new one. */
export const OCCASIONS: Readonly<Record<Occasion, string>> = {
  failing: t`A webhook fails`,
  disabling_in_24h: t`A webhook will be disabled within 24 hours`,
  disabling_in_1h: t`A webhook will be disabled within an hour`,
  disabled: t`A webhook was disabled`,
  recovered: t`A webhook works again`,
  quota_80: t`80 % of the storage quota is used`,
  quota_100: t`The storage quota is used up`,
  dead_letters: t`There are new dead letters`,
  certificate_expiring: t`A client certificate expires soon`,
  receiver_certificate_expiring: t`A receiver’s certificate expires soon`,
  token_failing: t`A webhook gets no access token`,
  api_key_expiring: t`An API key expires soon`,
  signing_key_rotated: t`The signing key was rotated`,
};

export const occasions = Object.keys(OCCASIONS) as Occasion[];

export const TOPICS: Readonly<Record<Notification['topic'], string>> = {
  confirmation: t`Asked to confirm`,
  test: t`Test message`,
  ...OCCASIONS,
};

export const CONTACT_STATES: Readonly<Record<Contact['status'], readonly [label: string, tone: Tone]>> = {
  unconfirmed: [t`Not confirmed yet`, 'warning'],
  confirmed: [t`Confirmed`, 'good'],
  unsubscribed: [t`Unsubscribed`, 'neutral'],
};

export const MESSAGE_STATES: Readonly<Record<Notification['status'], readonly [label: string, tone: Tone]>> =
  {
    pending: [t`To be sent`, 'busy'],
    sent: [t`Sent`, 'good'],
    failed: [t`Given up`, 'bad'],
    cancelled: [t`Not wanted any more`, 'neutral'],
  };

export const DIGESTS: Readonly<Record<'' | 'hourly' | 'daily', string>> = {
  '': t`At once`,
  hourly: t`Together, every hour`,
  daily: t`Together, every day`,
};

/** "3 of 13", "All": more has no room in a table. */
export function occasionsText({ occasions: chosen }: Pick<Contact, 'occasions'>): string {
  if (chosen === null || chosen === undefined) return t({ message: 'All', context: 'occasions' });
  const [only] = chosen;
  if (chosen.length === 1 && only) return OCCASIONS[only];
  const [count, all] = [chosen.length, occasions.length];
  return t`${count} of ${all}`;
}

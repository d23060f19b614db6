import {
  type Contact,
  type ContactKind,
  linkTokenOf,
  type Notification,
  type NotificationTopic,
  type Subject,
} from '../domain/contact';
import { plainName } from './plain-name';

/** A message as a person reads it. */
export interface ComposedMessage {
  readonly subject: string;
  readonly lines: readonly string[];
  /** Where to see more, or to confirm. */
  readonly link: string;
  readonly unsubscribeLink: string;
}

interface Words {
  /** `{n}` becomes `3 webhooks`. */
  readonly title: string;
  readonly advice: string;
}

const WEBHOOKS = 'Open the webhook to see the responses of its receiver, and send failed deliveries again.';

const words: Readonly<Record<NotificationTopic, Words>> = {
  confirmation: {
    title: 'Confirm that you want messages about webhooks',
    advice:
      'Somebody has added this address to the contacts for webhooks. To get messages when webhooks fail, open the link and press the button. Otherwise do nothing: you get no other message.',
  },
  failing: { title: '{n} failing', advice: `Deliveries fail and are retried. ${WEBHOOKS}` },
  disabling_in_24h: {
    title: '{n} will be disabled within 24 hours',
    advice: `Nothing was delivered for days. A disabled webhook gets no more deliveries. ${WEBHOOKS}`,
  },
  disabling_in_1h: {
    title: '{n} will be disabled within an hour',
    advice: `Nothing was delivered for days. A disabled webhook gets no more deliveries. ${WEBHOOKS}`,
  },
  disabled: {
    title: '{n} disabled',
    advice: 'Its deliveries are held. Repair the receiver, then enable the webhook again.',
  },
  recovered: { title: '{n} working again', advice: 'Deliveries arrive again. There is nothing to do.' },
  quota_80: {
    title: '80 % of the storage quota is used',
    advice:
      'Events are refused once the quota is used up. Ask the operator for a larger quota, or publish less.',
  },
  quota_100: {
    title: 'The storage quota is used up',
    advice: 'New events are refused until others have expired. Ask the operator for a larger quota.',
  },
  dead_letters: {
    title: 'There are new dead letters',
    advice: 'Some jobs are not valid events. Look at the reason of each, then retry or drop it.',
  },
  certificate_expiring: {
    title: '{n} with a client certificate that expires soon',
    advice: 'Give the webhook a new certificate before that time, or its receiver may refuse the connection.',
  },
  receiver_certificate_expiring: {
    title: '{n} whose receiver has a certificate that expires soon',
    advice: 'Renew the certificate of the receiver before that time: deliveries fail from then on.',
  },
  token_failing: {
    title: '{n} without a new access token',
    advice:
      'The token URL gives no access token; the client secret may have expired or been revoked. Open the webhook and enter a valid one.',
  },
  api_key_expiring: {
    title: 'An API key expires soon',
    advice:
      'Issue another key and use it before that time: requests with the old key are refused from then on.',
  },
  signing_key_rotated: {
    title: 'The signing key has been rotated',
    advice: 'Receivers that read the JWK set need no change. All others need the new public key.',
  },
};

/**
 * The text for messages that go to one contact together.
 *
 * @param publicUrl the origin by which browsers reach the API.
 */
export function composeMessage(
  publicUrl: string,
  contact: Contact,
  notifications: readonly Notification[],
): ComposedMessage {
  const [first] = notifications;
  const linkOf = (purpose: 'confirm' | 'unsubscribe') =>
    `${publicUrl}/contacts/${linkTokenOf(contact, purpose)}/${purpose}`;
  const isConfirmation = first?.topic === 'confirmation';
  const titles = notifications.map(titleOf);
  return {
    subject: titles.length === 1 ? titles.join('') : `${titles.length} messages about webhooks`,
    lines: notifications.flatMap((each) => [...linesOf(each, contact.kind), '']).slice(0, -1),
    link: isConfirmation ? linkOf('confirm') : `${publicUrl}${pathOf(notifications)}`,
    unsubscribeLink: linkOf('unsubscribe'),
  };
}

function titleOf({ topic, subjects, subjectCount = subjects.length }: Notification): string {
  const count = subjectCount === 1 ? '1 webhook' : `${subjectCount} webhooks`;
  return words[topic].title.replace('{n}', count);
}

function linesOf(notification: Notification, kind: ContactKind): readonly string[] {
  const { topic, subjects, subjectCount = subjects.length } = notification;
  const listed = subjects.map((subject) => lineOf(topic, subject, kind));
  const rest = subjectCount - subjects.length;
  return [
    `${titleOf(notification)}.`,
    ...listed.filter((line) => line !== ''),
    ...(rest > 0 ? [`… and ${rest} more`] : []),
    words[topic].advice,
  ];
}

const DETAIL: Readonly<Partial<Record<NotificationTopic, string>>> = {
  failing: 'since',
  disabling_in_24h: 'at',
  disabling_in_1h: 'at',
  disabled: 'reason:',
  recovered: 'last success:',
  certificate_expiring: 'expires at',
  receiver_certificate_expiring: 'expires at',
  token_failing: 'since',
  api_key_expiring: 'expires at',
  signing_key_rotated: 'signs from',
  dead_letters: 'the newest came at',
};

function lineOf(topic: NotificationTopic, { endpointId, label, detail }: Subject, kind: ContactKind): string {
  const name = label === undefined ? undefined : plainName(label, kind);
  const what = [endpointId, name === undefined ? undefined : `(${name})`].filter(
    (part) => part !== undefined,
  );
  const more = detail === undefined ? [] : [DETAIL[topic] ?? '', detail];
  const text = [...what, ...more].filter((part) => part !== '').join(' ');
  return text === '' ? '' : `- ${text}`;
}

/** The portal's page that says what to do. */
function pathOf(notifications: readonly Notification[]): string {
  const subjects = notifications.flatMap((notification) => notification.subjects);
  const [only, ...others] = new Set(subjects.map(({ endpointId }) => endpointId));
  if (only !== undefined && others.length === 0) return `/portal/webhooks/${only}`;
  return '/portal';
}

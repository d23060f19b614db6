import type { Account } from '../domain/account';
import {
  type Contact,
  type ContactKind,
  linkTokenOf,
  type Notification,
  type NotificationTopic,
  type Subject,
} from '../domain/contact';
import { plainName } from './plain-name';

/** What is said of one topic. */
export interface MessageSection {
  readonly title: string;
  /** The webhooks or keys that it is about. */
  readonly items: readonly string[];
  readonly advice: string;
}

/** A message as a person reads it. */
export interface ComposedMessage {
  readonly subject: string;
  readonly sections: readonly MessageSection[];
  /** Who sends it, and for which account. */
  readonly footer: string;
  /** Where to see more, or to confirm, and what the link does. */
  readonly link: string;
  readonly linkLabel: string;
  readonly unsubscribeLink: string;
}

/** Who writes, and where readers get on. */
export interface MessageSettings {
  /** The origin by which browsers reach the API. */
  readonly publicUrl: string;
  /** Who runs the service. Absent: the name of the product. */
  readonly operatorName?: string | undefined;
  /** A page that signs its reader in to the portal, with `{path}` and perhaps `{account}` in it. Absent: the portal itself. */
  readonly portalEntryUrl?: string | undefined;
}

interface Words {
  /** `{what}` becomes the name of a webhook, or `3 webhooks`. */
  readonly one: string;
  /** For several webhooks. Absent: as for one. */
  readonly many?: string;
  readonly advice: string;
}

const PRODUCT = 'Hookferry';
const WEBHOOKS = 'Open the webhook to see the responses of its receiver, and send failed deliveries again.';
const DISABLED_SOON = `Nothing was delivered for days. A disabled webhook gets no more deliveries. ${WEBHOOKS}`;

const words: Readonly<Record<NotificationTopic, Words>> = {
  confirmation: {
    one: 'Confirm that you want messages about webhooks',
    advice:
      'Somebody has added this address to the contacts for webhooks. To get messages when webhooks fail, open the link and press the button. Otherwise do nothing: you get no other message.',
  },
  test: {
    one: 'This is a test message',
    advice: 'Messages about webhooks arrive here. There is nothing to do.',
  },
  failing: {
    one: '{what} fails',
    many: '{what} fail',
    advice: `Deliveries fail and are retried. ${WEBHOOKS}`,
  },
  disabling_in_24h: { one: '{what} will be disabled within 24 hours', advice: DISABLED_SOON },
  disabling_in_1h: { one: '{what} will be disabled within an hour', advice: DISABLED_SOON },
  disabled: {
    one: '{what} was disabled',
    many: '{what} were disabled',
    advice: 'Its deliveries are held. Repair the receiver, then enable the webhook again.',
  },
  recovered: {
    one: '{what} works again',
    many: '{what} work again',
    advice: 'Deliveries arrive again. There is nothing to do.',
  },
  quota_80: {
    one: '80 % of the storage quota is used',
    advice:
      'Events are refused once the quota is used up. Ask the operator for a larger quota, or publish less.',
  },
  quota_100: {
    one: 'The storage quota is used up',
    advice: 'New events are refused until others have expired. Ask the operator for a larger quota.',
  },
  dead_letters: {
    one: 'There are new dead letters',
    advice: 'Some jobs are not valid events. Look at the reason of each, then retry or drop it.',
  },
  certificate_expiring: {
    one: 'The client certificate of {what} expires soon',
    many: 'The client certificates of {what} expire soon',
    advice: 'Give the webhook a new certificate before that time, or its receiver may refuse the connection.',
  },
  receiver_certificate_expiring: {
    one: 'The certificate of the receiver of {what} expires soon',
    many: 'The certificates of the receivers of {what} expire soon',
    advice: 'Renew the certificate of the receiver before that time: deliveries fail from then on.',
  },
  token_failing: {
    one: '{what} gets no access token',
    many: '{what} get no access token',
    advice:
      'The token URL gives no access token; the client secret may have expired or been revoked. Open the webhook and enter a valid one.',
  },
  api_key_expiring: {
    one: 'An API key expires soon',
    advice:
      'Issue another key and use it before that time: requests with the old key are refused from then on.',
  },
  signing_key_rotated: {
    one: 'The signing key has been rotated',
    advice: 'Receivers that read the JWK set need no change. All others need the new public key.',
  },
};

/**
 * The text for messages that go to one contact together.
 *
 * @param account the contact's. Absent: it is gone.
 */
export function composeMessage(
  settings: MessageSettings,
  account: Account | undefined,
  contact: Contact,
  notifications: readonly Notification[],
): ComposedMessage {
  const [first] = notifications;
  const linkOf = (purpose: 'confirm' | 'unsubscribe') =>
    `${settings.publicUrl}/contacts/${linkTokenOf(contact, purpose)}/${purpose}`;
  const isConfirmation = first?.topic === 'confirmation';
  const sections = notifications.map((each) => sectionOf(each, contact));
  const [only, ...others] = sections;
  const what = only && others.length === 0 ? only.title : `${sections.length} messages about webhooks`;
  const name = plainName(account?.name ?? contact.accountId, contact.kind);
  const sender = settings.operatorName ?? PRODUCT;
  return {
    subject: settings.operatorName === undefined ? what : `${settings.operatorName}: ${what}`,
    sections,
    footer: `${sender} sends this for the account ${name}.`,
    link: isConfirmation ? linkOf('confirm') : entryTo(pathOf(notifications), settings, contact.accountId),
    linkLabel: isConfirmation ? 'Confirm' : 'See more',
    unsubscribeLink: linkOf('unsubscribe'),
  };
}

/** The lines of a message in plain text, without its links. */
export function linesOf({ sections, footer }: ComposedMessage): readonly string[] {
  const said = sections.flatMap(({ title, items, advice }) => [
    `${title}.`,
    ...items.map((item) => `- ${item}`),
    advice,
    '',
  ]);
  return [...said, footer];
}

function sectionOf(notification: Notification, { kind, timeZone }: Contact): MessageSection {
  const { topic, subjects, subjectCount = subjects.length } = notification;
  const items = subjects.map((subject) => itemOf(topic, subject, kind, timeZone));
  const rest = subjectCount - subjects.length;
  return {
    title: titleOf(notification, kind),
    items: [...items.filter((item) => item !== ''), ...(rest > 0 ? [`… and ${rest} more`] : [])],
    advice: words[topic].advice,
  };
}

function titleOf(
  { topic, subjects, subjectCount = subjects.length }: Notification,
  kind: ContactKind,
): string {
  const { one, many = one } = words[topic];
  const [first] = subjects;
  if (subjectCount !== 1) return many.replace('{what}', () => `${subjectCount} webhooks`);
  const name = first?.name ?? first?.label ?? first?.endpointId ?? '';
  return one.replace('{what}', () => plainName(name, kind));
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

function itemOf(
  topic: NotificationTopic,
  { endpointId, name, label, detail, lastFailure }: Subject,
  kind: ContactKind,
  timeZone: string | undefined,
): string {
  const named = [name, label].filter((part) => part !== undefined).map((part) => plainName(part, kind));
  const parts = [
    ...named,
    endpointId,
    detail === undefined ? undefined : [DETAIL[topic], localTime(detail, timeZone)].join(' ').trim(),
    lastFailure === undefined ? undefined : `last failure: ${lastFailure}`,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** A time as its reader's clock has it. Any other text stays as it is. */
function localTime(text: string, timeZone = 'UTC'): string {
  if (!TIME.test(text)) return text;
  return new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    timeZone,
  }).format(new Date(text));
}

function entryTo(path: string, { publicUrl, portalEntryUrl }: MessageSettings, accountId: string): string {
  if (portalEntryUrl === undefined) return `${publicUrl}/portal${path}`;
  return portalEntryUrl
    .replaceAll('{path}', () => encodeURIComponent(path === '' ? '/' : path))
    .replaceAll('{account}', () => encodeURIComponent(accountId));
}

/** The portal's page that says what to do. */
function pathOf(notifications: readonly Notification[]): string {
  const subjects = notifications.flatMap((notification) => notification.subjects);
  const [only, ...others] = new Set(subjects.map(({ endpointId }) => endpointId));
  return only !== undefined && others.length === 0 ? `/webhooks/${only}` : '';
}

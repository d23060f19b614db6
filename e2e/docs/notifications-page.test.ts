import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import {
  type Contact,
  contactSchema,
  type Notification,
  notificationSchema,
} from '@hookferry/core/domain/contact';
import { type ComposedMessage, composeMessage, linesOf } from '@hookferry/core/notifications/compose-message';
import { sendNotification } from '@hookferry/core/notifications/send-notification';
import { blocksOf, readPage } from './read-page';

const WEBHOOK = 'wh_01m8dcggq923esjbdctexv';
const subject = { endpointId: WEBHOOK, name: 'Shop front', label: 'receiver.example.com' };
const failing = notificationOf('failing', '11', {
  ...subject,
  detail: '2026-11-27T09:10:20.000Z',
  lastFailure: 'HTTP 500',
});
const recovered = notificationOf('recovered', '12', { ...subject, detail: '2026-11-27T09:42:07.000Z' });
const confirmation = notificationOf('confirmation', '10', {});

function notificationOf(topic: string, end: string, about: object): Notification {
  return notificationSchema.parse({
    id: `ntf_01m8dcgga8c4s153grcx${end}`,
    contactId: 'ct_01m8dcgga8c4s153grcx10',
    kind: 'email',
    topic,
    subjects: [about],
    status: 'pending',
    attempts: 0,
    createdAt: 0,
  });
}

function contactOf(kind: Contact['kind']): Contact {
  const id = 'ct_01m8dcgga8c4s153grcx10';
  const target = 'https://ops.example.com/told';
  const made = { accountId: DEFAULT_ACCOUNT, status: 'confirmed', secret: 'x', createdAt: 0, updatedAt: 0 };
  return contactSchema.parse({ id, kind, target, ...made });
}

function messageOf(kind: Contact['kind'], notifications: readonly Notification[]): ComposedMessage {
  const settings = { publicUrl: 'https://hooks.example.com', operatorName: 'Example Ltd' };
  const account = { id: DEFAULT_ACCOUNT, name: 'Acme', createdAt: 0 };
  return composeMessage(settings, account, contactOf(kind), notifications);
}

/** As the page has them: what a link proves is left out. */
const shown = (text: string) => text.replaceAll(/contacts\/[\w-]+\//g, 'contacts/…/');

function mailOf(notifications: readonly Notification[]): string {
  const message = messageOf('email', notifications);
  const { subject: title, link, unsubscribeLink } = message;
  const ending = `No more messages to this address: ${unsubscribeLink}`;
  return shown([`Subject: ${title}`, '', ...linesOf(message), '', link, '', ending].join('\n'));
}

async function bodyOf(kind: Contact['kind'], { id, topic }: Notification, at: string): Promise<unknown> {
  let body = '';
  const context = {
    transport: async (request: { readonly body: string }) => {
      body = request.body;
      return { kind: 'unsent', error: '' } as const;
    },
    mailer: undefined,
    userAgent: 'test',
    clock: () => Date.parse(at),
  };
  const message = messageOf(kind, [topic === 'failing' ? failing : confirmation]);
  await sendNotification(context, contactOf(kind), message, id, new AbortController().signal);
  return JSON.parse(shown(body));
}

it('the page of notifications shows the mails as contacts get them', async () => {
  const texts = blocksOf(await readPage('notifications.md'), 'text').map((text) => text.trim());
  expect(texts).toEqual(expect.arrayContaining([mailOf([failing]), mailOf([failing, recovered])]));
});

it('the page of notifications shows the requests as chats and programs get them', async () => {
  const shownBodies = blocksOf(await readPage('notifications.md'), 'json').map(
    (text) => JSON.parse(text) as unknown,
  );
  const sent = [
    await bodyOf('slack', failing, '2026-11-27T09:21:00.000Z'),
    await bodyOf('webhook', confirmation, '2026-11-27T09:00:02.000Z'),
    await bodyOf('webhook', failing, '2026-11-27T09:21:00.000Z'),
  ];
  expect(shownBodies).toEqual(expect.arrayContaining(sent));
});

import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { AccountQuota } from '../accounts/account-quota';
import { AccountStore } from '../accounts/redis-account-store';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import { UsageStore } from '../accounts/redis-usage-store';
import { AccessTokenStore } from '../deliver/redis-access-token-store';
import { DEFAULT_ACCOUNT } from '../domain/account';
import {
  type Contact,
  type ContactId,
  contactKinds,
  linkTokenOf,
  MOST_SUBJECTS,
  notificationTopics,
  parseLinkToken,
} from '../domain/contact';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { DeliveryRequest, SendResult } from '../domain/transport';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { disable } from '../endpoints/disable';
import { hourOf, NO_DURATIONS, tallyOf } from '../endpoints/health/attempt-tally';
import { HealthStore } from '../endpoints/health/redis-health-store';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { SigningKeys } from '../endpoints/signing-keys/signing-keys';
import { ReceiverCertificates } from '../endpoints/tls/redis-receiver-certificates';
import { UNPROVEN_A_MINUTE, UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { createNewId } from '../platform/ids';
import { buildApiKey } from '../testing/build-api-key';
import { buildFailedAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildTargetUrlRules } from '../testing/build-target-url-rules';
import { expiredCertificate } from '../testing/certificates';
import { fake } from '../testing/fake';
import { findClosedPort } from '../testing/local-server';
import { recordSignals, type SignalRecord } from '../testing/record-signals';
import { SMTP_PASSWORD, startSmtpServer, type TestSmtpServer } from '../testing/smtp-server';
import { standStill } from '../testing/stand-still';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { Contacts } from './contacts';
import { Mailer } from './nodemailer-mailer';
import { Notifier, type NotifierParts } from './notifier';
import { ContactStore } from './redis-contact-store';
import { LOOK_CLAIM_MS, NotificationStore } from './redis-notification-store';

const START = 1_700_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PUBLIC_URL = 'https://hooks.example.com';

const NO_USAGE = {
  bytes: { events: 0, deliveries: 0, replays: 0, sessions: 0, answers: 0 },
  events: 0,
  webhooks: 0,
  apiKeys: 0,
};

let redis: TestRedis;
let smtp: TestSmtpServer;
let mailer: Mailer;
beforeAll(async () => {
  redis = await openTestRedis();
  smtp = await startSmtpServer();
  mailer = new Mailer({ smtpUrl: smtp.url, from: 'Example <hooks@example.com>' });
});
afterEach(() => redis.client.flushdb());
afterAll(async () => {
  mailer.close();
  await smtp.close();
  await redis.close();
});

let now = START;
let signals: SignalRecord;
let requests: DeliveryRequest[];
let answer: SendResult;
const accountId = uniqueAccountId();
const clock = () => now;

function openScene(change: Partial<NotifierParts> = {}, client = redis.client) {
  const emit = signals.listen;
  const endpointStore = new EndpointStore(client, testSealer);
  const healthStore = new HealthStore(client, 30 * 24 * HOUR);
  const contactStore = new ContactStore(client, testSealer);
  const notificationStore = new NotificationStore(client);
  const context = {
    unprovenRequests: new UnprovenRequests(client),
    random: () => 0,
    contactStore,
    notificationStore,
    endpointStore,
    healthStore,
    admissionStore: new AdmissionStore(client),
    accessTokenStore: new AccessTokenStore(client, testSealer),
    receiverCertificates: new ReceiverCertificates({ redis: client, clock, emit }),
    quota: new AccountQuota({ usageStore: new UsageStore(client), defaultBytes: 1_000_000_000, clock, emit }),
    apiKeyStore: new ApiKeyStore(client),
    signingKeyStore: new SigningKeyStore(client, testSealer),
    readNewestDeadLetter: async () => undefined,
    disablePolicy: { afterMs: 5 * 24 * HOUR, failureSpanMs: 12 * HOUR },
    failingAfterMs: 10 * MINUTE,
    ratePolicy: { below: 0.5, forMs: 15 * MINUTE },
    transport: async (request: DeliveryRequest) => {
      requests.push(request);
      return answer;
    },
    mailer,
    userAgent: 'Hookferry/test',
    messageSettings: { publicUrl: PUBLIC_URL },
    accountStore: new AccountStore(client),
    newId: createNewId(clock),
    clock,
    emit,
  };
  const contacts = new Contacts({
    ...context,
    urlRules: buildTargetUrlRules(),
    sendsMail: true,
    hasPublicUrl: true,
  });
  return { ...context, contacts, notifier: new Notifier({ ...context, ...change }) };
}

const answered = (status: number): SendResult => ({
  kind: 'responded',
  status,
  retryAfter: undefined,
  wish: undefined,
  body: '',
  timings: {},
});

beforeEach(() => {
  now = START;
  signals = recordSignals();
  requests = [];
  answer = answered(200);
  smtp.refuse(undefined);
  (smtp.mails as unknown[]).length = 0;
});

const newId = createNewId(Date.now);

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await setImmediate();
}

async function addContact(store: ContactStore, change: Partial<Contact> = {}): Promise<Contact> {
  const contact: Contact = {
    id: newId('ct') as ContactId,
    accountId,
    kind: 'email',
    target: 'ops@example.com',
    secret: 'secret of links',
    status: 'confirmed',
    createdAt: now,
    updatedAt: now,
    ...change,
  };
  await store.create(contact);
  return contact;
}

/** A contact whose account was looked at once, so that whatever comes is new. */
async function confirmed(scene: ReturnType<typeof openScene>, change: Partial<Contact> = {}) {
  const contact = await addContact(scene.contactStore, change);
  await lookAfter(scene, 0);
  return contact;
}

async function lookAfter({ notifier }: { notifier: Notifier }, ms: number, at = accountId): Promise<void> {
  now += ms;
  await redis.client.zadd(keys.contactAccounts, 'LT', now, at);
  await notifier.runOnce();
}

async function tries(
  { id }: Endpoint,
  { healthStore }: { healthStore: HealthStore },
  counts: { readonly successes: number; readonly failures: number },
): Promise<void> {
  const hours = [{ ...counts, hour: hourOf(now), durations: NO_DURATIONS }];
  const lastSuccessAt = counts.successes > 0 ? now : undefined;
  const tally = { hours, lastSuccessAt, lastFailure: { at: now } };
  await healthStore.addAll([{ endpointId: id, tally }], now);
}

async function addEndpoint(
  { endpointStore }: { endpointStore: EndpointStore },
  change: Partial<Endpoint> = {},
) {
  const endpoint = buildEndpoint({ accountId, createdAt: START, updatedAt: START, ...change });
  await endpointStore.create(endpoint);
  return endpoint;
}

async function fails({ id }: Endpoint, since = now): Promise<void> {
  await redis.client.set(keys.breaker(id), `12 ${since + MINUTE} ${since}`);
}

async function works({ id }: Endpoint, { healthStore }: { healthStore: HealthStore }): Promise<void> {
  await redis.client.del(keys.breaker(id));
  const tally = { hours: [], lastSuccessAt: now, lastFailure: undefined };
  await healthStore.addAll([{ endpointId: id, tally }], now);
}

/** Without the soft line breaks of quoted-printable. */
const textsOfMails = () => smtp.mails.map(({ raw }) => raw.replace(/=\r\n/g, '').replaceAll('=3D', '='));
const subjectsOfMails = () =>
  smtp.mails.map(({ raw }) => {
    const unfolded = raw.replace(/\r\n[ \t]/g, ' ');
    return /^Subject: (.*)$/m.exec(unfolded)?.[1]?.trim();
  });

describe('a new contact', () => {
  it('is asked once whether it wants messages, and gets no other one before it has said so', async () => {
    const scene = openScene();
    const contact = await addContact(scene.contactStore, { status: 'unconfirmed' });
    await lookAfter(scene, 0);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 20 * MINUTE);
    expect(subjectsOfMails()).toEqual(['Confirm that you want messages about webhooks']);
    expect(textsOfMails()[0]).toContain(`${PUBLIC_URL}/contacts/${linkTokenOf(contact, 'confirm')}/confirm`);
  });

  it('is told once it has followed its link', async () => {
    const scene = openScene();
    const contact = await addContact(scene.contactStore, { status: 'unconfirmed' });
    await lookAfter(scene, 0);
    await scene.contacts.followLink(linkTokenOf(contact, 'confirm'), 'confirm');
    await lookAfter(scene, 0);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 20 * MINUTE);
    expect(subjectsOfMails()[1]).toBe('receiver.example.com fails');
  });

  it('is not confirmed by the link to unsubscribe, nor by one that was made up', async () => {
    const scene = openScene();
    const contact = await addContact(scene.contactStore, { status: 'unconfirmed' });
    const forged = Buffer.from(`${accountId}~${contact.id}~forged`).toString('base64url');
    for (const token of [linkTokenOf(contact, 'unsubscribe'), forged, 'x', '']) {
      await expect(scene.contacts.followLink(token, 'confirm')).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    expect(parseLinkToken('%')).toBeUndefined();
    expect(await scene.contactStore.find(accountId, contact.id)).toMatchObject({ status: 'unconfirmed' });
  });
});

describe('a URL that has not confirmed', () => {
  it('gets no more requests than a host may that has proved nothing, and each contact is asked in the end', async () => {
    const scene = openScene();
    const { ofAccountAtHost } = UNPROVEN_A_MINUTE;
    const count = ofAccountAtHost + 3;
    for (let each = 0; each < count; each++) {
      const target = `http://victim.example.com/?i=${each}`;
      await addContact(scene.contactStore, { kind: 'webhook', target, status: 'unconfirmed' });
    }
    await lookAfter(scene, 0);
    await lookAfter(scene, MINUTE / 2);
    expect(requests).toHaveLength(ofAccountAtHost);
    const all = () => scene.notificationStore.list(accountId, 100);
    const waiting = (await all()).notifications.filter(({ status }) => status === 'pending');
    expect(waiting.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
    await redis.client.del(...(await redis.client.keys('unproven-requests:*')));
    await lookAfter(scene, MINUTE);
    expect(new Set(requests.map(({ url }) => url)).size).toBe(count);
  });

  it('counts each retry of its question, and once it has confirmed it is asked for nothing', async () => {
    const scene = openScene();
    answer = answered(500);
    const target = 'http://victim.example.com/hook';
    const contact = await addContact(scene.contactStore, { kind: 'webhook', target, status: 'unconfirmed' });
    await lookAfter(scene, 0);
    for (let each = 1; each < UNPROVEN_A_MINUTE.ofAccountAtHost; each++) {
      await scene.unprovenRequests.take(accountId, 'victim.example.com');
    }
    await lookAfter(scene, 15_000);
    expect(requests).toHaveLength(1);
    await scene.contacts.followLink(linkTokenOf(contact, 'confirm'), 'confirm');
    await lookAfter(scene, 0);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 12 * MINUTE);
    expect(requests.at(-1)?.body).toContain('receiver.example.com fails');
  });
});

describe('a webhook that fails', () => {
  it('is told of after ten minutes, once, with a link to it and nothing of its URL but the host', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene, {
      url: 'https://receiver.example.com/hooks/path-secret?token=query-secret',
    });
    await fails(endpoint);
    await lookAfter(scene, 9 * MINUTE);
    expect(smtp.mails).toHaveLength(0);
    await lookAfter(scene, 3 * MINUTE);
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails']);
    const raw = smtp.mails[0]?.raw ?? '';
    expect(raw).toContain('receiver.example.com');
    expect(raw).toContain(`/portal/webhooks/${endpoint.id}`);
    expect(raw).not.toMatch(/path-secret|query-secret/);
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    expect(raw).toMatch(/^List-Unsubscribe:\s+<https:/m);
  });

  it('is one message with all others that fail at once, however many', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoints = [];
    for (let each = 0; each < 1_000; each++) endpoints.push(await addEndpoint(scene));
    for (const [each, endpoint] of endpoints.entries()) await fails(endpoint, now + each * 30);
    for (let look = 0; look < 8; look++) await lookAfter(scene, 2 * MINUTE + 15_000);
    expect(subjectsOfMails()).toEqual(['1000 webhooks fail']);
    expect(textsOfMails()[0]?.match(/^- receiver\.example\.com/gm)).toHaveLength(MOST_SUBJECTS);
    expect(textsOfMails()[0]).toContain(`${1_000 - MOST_SUBJECTS} more`);
    const { notifications } = await scene.notificationStore.list(accountId, 10);
    expect(notifications).toMatchObject([{ topic: 'failing', subjectCount: 1_000 }]);
  });

  it('is told of as well when fewer than half of its attempts succeed for a quarter of an hour', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene);
    for (let part = 0; part < 5; part++) {
      await tries(endpoint, scene, { successes: 4, failures: 6 });
      await lookAfter(scene, 3 * MINUTE);
    }
    expect(smtp.mails).toHaveLength(0);
    for (let part = 0; part < 20; part++) {
      await tries(endpoint, scene, { successes: 4, failures: 6 });
      await lookAfter(scene, 3 * MINUTE);
    }
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails']);
    await tries(endpoint, scene, { successes: 6, failures: 4 });
    await lookAfter(scene, 3 * MINUTE);
    await lookAfter(scene, 3 * MINUTE);
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails', 'receiver.example.com works again']);
  });

  it('is not told of by its share of successes where that is not wanted', async () => {
    const scene = openScene({ ratePolicy: { below: 0, forMs: 15 * MINUTE } });
    await confirmed(scene);
    const endpoint = await addEndpoint(scene);
    for (let part = 0; part < 10; part++) {
      await tries(endpoint, scene, { successes: 0, failures: 6 });
      await lookAfter(scene, 3 * MINUTE);
    }
    expect(smtp.mails).toHaveLength(0);
  });

  it('is one message, whichever way it fails first', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene);
    await fails(endpoint);
    for (let part = 0; part < 10; part++) {
      await tries(endpoint, scene, { successes: 0, failures: 6 });
      await lookAfter(scene, 3 * MINUTE);
    }
    // A success that did not last.
    await fails(endpoint);
    for (let look = 0; look < 10; look++) await lookAfter(scene, 3 * MINUTE);
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails']);
  });

  it('is warned of before it is disabled also when its few failures never open its breaker', async () => {
    const scene = openScene();
    await confirmed(scene);
    const { id } = await addEndpoint(scene);
    await redis.client.set(keys.breaker(id), `3 0 ${now}`);
    for (let hours = 0; hours < 5 * 24 - 0.5; hours += 0.5) await lookAfter(scene, 30 * MINUTE);
    expect(subjectsOfMails()).toEqual([
      'receiver.example.com will be disabled within 24 hours',
      'receiver.example.com will be disabled within an hour',
    ]);
  });

  it('is told of again when it works, and only after a success', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene);
    await fails(endpoint);
    await lookAfter(scene, 12 * MINUTE);
    await redis.client.del(keys.breaker(endpoint.id));
    await lookAfter(scene, 5 * MINUTE);
    expect(smtp.mails).toHaveLength(1);
    await works(endpoint, scene);
    await lookAfter(scene, 2 * MINUTE);
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails', 'receiver.example.com works again']);
  });

  it('is told of a day and an hour before it is disabled, and when it is', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene);
    await fails(endpoint);
    for (let hours = 0; hours < 5 * 24 - 0.5; hours += 0.25) await lookAfter(scene, 15 * MINUTE);
    await disable(
      { endpointStore: scene.endpointStore, clock, emit: signals.listen },
      accountId,
      endpoint.id,
      'failing',
    );
    await lookAfter(scene, 2 * MINUTE);
    expect(subjectsOfMails()).toEqual([
      'receiver.example.com fails',
      'receiver.example.com will be disabled within 24 hours',
      'receiver.example.com will be disabled within an hour',
      'receiver.example.com was disabled',
    ]);
  });

  it('is no news to a contact that came later', async () => {
    const scene = openScene();
    await fails(await addEndpoint(scene));
    now += HOUR;
    await confirmed(scene);
    await lookAfter(scene, HOUR);
    expect(smtp.mails).toHaveLength(0);
  });
});

describe('what expires or is used up', () => {
  const DAY = 24 * HOUR;

  it('is told of a receiver whose certificate expires within a week, until it is renewed', async () => {
    const scene = openScene();
    await confirmed(scene);
    await addEndpoint(scene);
    const note = (from: number, until: number) =>
      scene.receiverCertificates.note('receiver.example.com', { from, until });
    note(now - 85 * DAY, now + 5 * DAY);
    await waitFor(async () => (await scene.receiverCertificates.list()).size === 1);
    await lookAfter(scene, MINUTE);
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual([
      'The certificate of the receiver of receiver.example.com expires soon',
    ]);
    note(now, now + 90 * DAY);
    await waitFor(async () => (await scene.receiverCertificates.list()).size === 0);
  });

  it('is told of a token URL that has given no token for two minutes, once', async () => {
    const scene = openScene();
    await confirmed(scene);
    const auth = {
      type: 'oauth2',
      tokenUrl: 'https://login.example.com/token',
      clientId: 'hookferry',
      clientSecret: 'secret of the client',
      changedAt: START,
    } as const;
    const endpoint = { ...(await addEndpoint(scene, { auth })), auth };
    const failsAgain = async () => {
      await scene.accessTokenStore.ask(endpoint, { owner: 'worker', ms: 1_000 }, now);
      await scene.accessTokenStore.fail(endpoint, 'worker', 0, now);
    };
    await failsAgain();
    await lookAfter(scene, MINUTE);
    await failsAgain();
    expect(smtp.mails).toHaveLength(0);
    await lookAfter(scene, 3 * MINUTE);
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual(['receiver.example.com gets no access token']);
  });

  it('is told of an account whose storage is used by four fifths, and then by all', async () => {
    let usedBytes = 0;
    const scene = openScene({
      quota: fake<AccountQuota>({ look: async () => ({ ...NO_USAGE, usedBytes, quotaBytes: 1_000_000 }) }),
    });
    await confirmed(scene);
    usedBytes = 850_000;
    await lookAfter(scene, HOUR);
    await lookAfter(scene, HOUR);
    usedBytes = 1_050_000;
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual(['80 % of the storage quota is used', 'The storage quota is used up']);
  });

  it('is told of a signing key that replaces another, and of dead letters', async () => {
    let deadLetterAt: number | undefined;
    const scene = openScene({ readNewestDeadLetter: async () => deadLetterAt });
    await addContact(scene.contactStore, { accountId: DEFAULT_ACCOUNT });
    await lookAfter(scene, 0, DEFAULT_ACCOUNT);
    deadLetterAt = now;
    const account = { id: DEFAULT_ACCOUNT, createdAt: START };
    const accountStore = fake<AccountStore>({ find: async () => account });
    const signingKeys = new SigningKeys({ ...scene, accountStore, keyLeadMs: HOUR });
    await signingKeys.rotate(DEFAULT_ACCOUNT, { immediate: true }, 'rot_1');
    await lookAfter(scene, HOUR, DEFAULT_ACCOUNT);
    const [mail] = smtp.mails;
    expect(mail?.raw).toMatch(/signing key has been rotated/);
    expect(mail?.raw).toMatch(/new dead letters/);
  });
});

describe('a message', () => {
  const MARKED = 'marked-secret';
  const DAY = 24 * HOUR;
  const account = { id: DEFAULT_ACCOUNT, createdAt: START };
  const auth = {
    type: 'oauth2',
    tokenUrl: `https://login.example.com/${MARKED}?${MARKED}`,
    clientId: MARKED,
    clientSecret: MARKED,
    changedAt: START,
  } as const;
  const settings: Partial<Endpoint> = {
    accountId: DEFAULT_ACCOUNT,
    url: `https://receiver.example.com/${MARKED}?${MARKED}=${MARKED}`,
    filter: JSON.stringify({ [MARKED]: MARKED }),
    metadata: { [MARKED]: MARKED },
    headers: { [MARKED]: MARKED },
    secrets: [{ secret: MARKED, createdAt: START }],
    tls: { certificate: expiredCertificate, key: MARKED },
    auth,
  };
  const targets = {
    email: 'ops@example.com',
    slack: `https://hooks.slack.com/services/${MARKED}`,
    teams: `https://x.webhook.office.com/${MARKED}`,
    discord: `https://discord.com/api/webhooks/${MARKED}`,
    webhook: `https://hooks.example.com/${MARKED}?${MARKED}`,
  } as const;

  it.each(contactKinds)('of any occasion by %s says nothing that must not be known', async (kind) => {
    let usedBytes = 0;
    let deadLetterAt: number | undefined;
    const scene = openScene({
      disablePolicy: { afterMs: 2 * DAY, failureSpanMs: HOUR },
      quota: fake<AccountQuota>({ look: async () => ({ ...NO_USAGE, usedBytes, quotaBytes: 100 }) }),
      readNewestDeadLetter: async () => deadLetterAt,
    });
    const contact = { accountId: DEFAULT_ACCOUNT, kind, target: targets[kind] };
    await addContact(scene.contactStore, { ...contact, status: 'unconfirmed' });
    const { id } = await addContact(scene.contactStore, contact);
    await lookAfter(scene, 0, DEFAULT_ACCOUNT);
    await scene.contacts.sendTest(DEFAULT_ACCOUNT, id);
    const failing = await addEndpoint(scene, settings);
    await fails(failing);
    const off = await addEndpoint(scene, settings);
    await disable({ ...scene, emit: signals.listen }, DEFAULT_ACCOUNT, off.id, 'gone');
    const tokenless = { ...(await addEndpoint(scene, settings)), auth };
    await scene.accessTokenStore.ask(tokenless, { owner: 'worker', ms: 1_000 }, now);
    await scene.accessTokenStore.fail(tokenless, 'worker', 0, now);
    const expiring = { accountId: DEFAULT_ACCOUNT, createdAt: START, expiresAt: START + 15 * DAY };
    await scene.apiKeyStore.save(buildApiKey(expiring).record);
    scene.receiverCertificates.note('receiver.example.com', {
      from: START - 90 * DAY,
      until: START + 7 * DAY,
    });
    const accountStore = fake<AccountStore>({ find: async () => account });
    const signingKeys = new SigningKeys({ ...scene, accountStore, keyLeadMs: HOUR });
    await signingKeys.rotate(DEFAULT_ACCOUNT, { immediate: true }, 'rot_1');
    deadLetterAt = now;
    usedBytes = 85;
    await lookAfter(scene, 20 * MINUTE, DEFAULT_ACCOUNT);
    usedBytes = 100;
    for (let hours = 0; hours < 47.5; hours += 0.5) await lookAfter(scene, 30 * MINUTE, DEFAULT_ACCOUNT);
    await works(failing, scene);
    await lookAfter(scene, HOUR, DEFAULT_ACCOUNT);
    const { notifications } = await scene.notificationStore.list(DEFAULT_ACCOUNT, 200);
    const topics = new Set(notifications.map(({ topic }) => topic));
    expect([...topics].toSorted()).toEqual([...notificationTopics].toSorted());
    const sent = [...textsOfMails(), ...requests.map(({ headers, body }) => ({ headers, body }))];
    expect(sent.length).toBeGreaterThan(5);
    const stored = await redis.client.hvals(keys.notifications(DEFAULT_ACCOUNT));
    expect(JSON.stringify([sent, stored, signals.all()])).not.toContain(MARKED);
  });
});

describe('a message', () => {
  const OPERATOR = {
    publicUrl: PUBLIC_URL,
    operatorName: 'Example Ltd',
    portalEntryUrl: 'https://app.example.com/webhooks?account={account}&to={path}',
  };

  it('says who writes, for whom, about what, since when by the clock of its reader, and how it failed', async () => {
    const accountStore = fake<AccountStore>({
      find: async () => ({ id: accountId, name: 'Acme', createdAt: 0 }),
    });
    const scene = openScene({ messageSettings: OPERATOR, accountStore });
    await confirmed(scene, { timeZone: 'Asia/Tokyo' });
    const endpoint = await addEndpoint(scene, { description: 'Shop <front>\r\nBcc: x@example.com' });
    await fails(endpoint);
    const tally = tallyOf({ failed: buildFailedAttempt({ status: 502 }), at: now, durationMs: 40 });
    await scene.healthStore.addAll([{ endpointId: endpoint.id, tally }], now);
    await lookAfter(scene, 12 * MINUTE);
    expect(subjectsOfMails()).toEqual(['Example Ltd: Shop <front> Bcc: x@example.com fails']);
    const [mail = ''] = textsOfMails();
    const item = `Shop <front> Bcc: x@example.com · receiver.example.com · ${endpoint.id} · since 15 Nov 2023, 07:13 GMT+9`;
    expect(mail).toContain(`- ${item.replaceAll('·', '=C2=B7')} =C2=B7 last failure: HTTP 502`);
    expect(mail).toContain('Example Ltd sends this for the account Acme.');
    expect(mail).toContain(
      `https://app.example.com/webhooks?account=${accountId}&to=%2Fwebhooks%2F${endpoint.id}`,
    );
    const html = mail.slice(mail.indexOf('<!doctype html>'));
    expect(html).toContain('<li>Shop &lt;front&gt; Bcc: x@example.com');
    expect(html).not.toContain('<front>');
    expect(mail).not.toMatch(/^Bcc:/m);
  });

  it('leads to the portal itself where no other way in is set', async () => {
    const scene = openScene();
    await confirmed(scene);
    const endpoint = await addEndpoint(scene, { uid: 'shop' as NonNullable<Endpoint['uid']> });
    await fails(endpoint);
    await lookAfter(scene, 12 * MINUTE);
    expect(subjectsOfMails()).toEqual(['shop fails']);
    expect(textsOfMails()[0]).toContain(`${PUBLIC_URL}/portal/webhooks/${endpoint.id}`);
  });

  it('is sent at once as a test, each time that somebody requests one, to a contact that has confirmed', async () => {
    const scene = openScene();
    const { id } = await confirmed(scene, { digest: 'daily' });
    for (let each = 1; each <= 2; each++) {
      await scene.contacts.sendTest(accountId, id);
      await lookAfter(scene, MINUTE);
      await lookAfter(scene, MINUTE);
      expect(subjectsOfMails()).toEqual(Array.from({ length: each }, () => 'This is a test message'));
    }
    await scene.contacts.sendTest(accountId, id);
    await expect(scene.contacts.sendTest(accountId, id)).rejects.toMatchObject({ code: 'rate_limited' });
    const asked = await addContact(scene.contactStore, { status: 'unconfirmed', target: 'new@example.com' });
    await expect(scene.contacts.sendTest(accountId, asked.id)).rejects.toMatchObject({ code: 'conflict' });
    await scene.contactStore.remove(accountId, id);
    await lookAfter(scene, MINUTE);
    expect(Object.keys((await scene.notificationStore.readNotified(accountId)).fields)).not.toContain(
      `test ${id}`,
    );
  });
});

describe('the name of a key', () => {
  it.each([
    ['slack', ['@everyone', '<!channel>', '://evil']],
    ['discord', ['@everyone', '[log in](', '://evil']],
    ['teams', ['[log in](', '**', '://evil']],
    ['email', ['://evil']],
  ] as const)('makes no mention, link or formatting in a message by %s', async (kind, forbidden) => {
    const scene = openScene();
    await confirmed(scene, {
      kind,
      ...(kind === 'email' ? {} : { target: `https://${kind}.example.com/x` }),
    });
    const name = '@everyone <!channel> **urgent** [log in](https://evil.example)';
    const expiring = { accountId, name, createdAt: START, expiresAt: START + 15 * 24 * HOUR };
    await scene.apiKeyStore.save(buildApiKey(expiring).record);
    for (let hours = 0; hours < 36; hours++) await lookAfter(scene, HOUR);
    const texts = [...textsOfMails(), ...requests.map(({ body }) => body)].filter((text) =>
      text.includes('An API key expires soon'),
    );
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain('evil.example');
    for (const text of forbidden) expect(texts[0]).not.toContain(text);
  });
});

describe('a contact', () => {
  it('gets only what it asked for', async () => {
    const scene = openScene();
    const [mine, other] = [await addEndpoint(scene), await addEndpoint(scene)];
    await confirmed(scene, { endpointId: mine.id, occasions: ['failing'] });
    await fails(mine);
    await fails(other);
    await lookAfter(scene, 12 * MINUTE);
    await works(mine, scene);
    await lookAfter(scene, 2 * MINUTE);
    expect(subjectsOfMails()).toEqual(['receiver.example.com fails']);
  });

  it('gets all together at the full hour if it wants a digest', async () => {
    const scene = openScene();
    await confirmed(scene, { digest: 'hourly' });
    const endpoint = await addEndpoint(scene);
    await fails(endpoint);
    await lookAfter(scene, 12 * MINUTE);
    await works(endpoint, scene);
    await lookAfter(scene, 2 * MINUTE);
    expect(smtp.mails).toHaveLength(0);
    await lookAfter(scene, HOUR);
    expect(subjectsOfMails()).toEqual(['2 messages about webhooks']);
  });

  it('gets nothing once it has unsubscribed, not even what was on its way', async () => {
    const scene = openScene();
    smtp.refuse(450);
    const contact = await confirmed(scene);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 12 * MINUTE);
    await scene.contacts.followLink(linkTokenOf(contact, 'unsubscribe'), 'unsubscribe');
    smtp.refuse(undefined);
    await lookAfter(scene, HOUR);
    expect(smtp.mails).toHaveLength(0);
    const { notifications } = await scene.notificationStore.list(accountId, 10);
    expect(notifications).toMatchObject([{ status: 'cancelled', topic: 'failing' }]);
  });

  it.each([
    ['slack', 'https://hooks.slack.com/services/T/B/x', /"text":".*receiver.example.com fails/],
    [
      'discord',
      'https://discord.com/api/webhooks/1/x',
      /"content":".*receiver.example.com fails.*"parse":\[\]/,
    ],
    ['teams', 'https://x.webhook.office.com/1', /AdaptiveCard.*receiver.example.com fails/],
    [
      'webhook',
      'https://hooks.example.com/in',
      /"type":"notification".*"subject":"receiver.example.com fails"/,
    ],
  ] as const)('of kind %s gets the form that it reads', async (kind, target, form) => {
    const scene = openScene();
    await confirmed(scene, { kind, target });
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 12 * MINUTE);
    expect(requests).toMatchObject([{ url: target, body: expect.stringMatching(form) }]);
  });
});

describe('a message that can not be sent', () => {
  it('is tried again until it can, and is on record', async () => {
    const scene = openScene();
    smtp.refuse(451);
    await confirmed(scene);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 12 * MINUTE);
    const before = await scene.notificationStore.list(accountId, 10);
    expect(before.notifications).toMatchObject([{ status: 'pending', attempts: 1, error: 'smtp 451' }]);
    smtp.refuse(undefined);
    await lookAfter(scene, 10_000);
    const after = await scene.notificationStore.list(accountId, 10);
    expect(after.notifications).toMatchObject([{ status: 'sent', attempts: 2 }]);
    expect(after.notifications[0]).not.toHaveProperty('error');
    expect(signals.named('notification.attempted').map(({ result }) => result)).toEqual(['retried', 'sent']);
  });

  it.each([
    ['the server refuses its address', 550],
    ['it has failed for a day', 451],
  ])('is given up when %s', async (_why, code) => {
    const scene = openScene();
    smtp.refuse(code);
    await confirmed(scene);
    await fails(await addEndpoint(scene));
    for (let look = 0; look < 10; look++) await lookAfter(scene, 12 * HOUR);
    const { notifications } = await scene.notificationStore.list(accountId, 10);
    expect(notifications.at(-1)).toMatchObject({ status: 'failed', error: `smtp ${code}` });
  });

  const message = {
    subject: 's',
    sections: [{ title: 't', items: ['<i>'], advice: 'a' }],
    footer: 'f',
    link: 'https://a.example',
    linkLabel: 'l',
    unsubscribeLink: 'https://b.example',
  };
  const from = 'a@example.com';
  const never = new AbortController().signal;

  it.each([
    ['says nothing', () => {}],
    ['answers a byte at a time', (socket: Socket) => void setInterval(() => socket.write('2'), 20).unref()],
    ['goes on greeting', (socket: Socket) => void setInterval(() => socket.write('220-a\r\n'), 20).unref()],
  ])('is tried again after a while when the server %s', async (_how, behave) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      behave(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const slow = new Mailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from, timeoutMs: 200 });
    const outcome = await slow.send('b@example.com', message, 'ntf_1', never);
    slow.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    expect(outcome).toEqual({ kind: 'failed', error: 'smtp ETIMEDOUT', isForGood: false });
  });

  it('is sent when its server has said so while this process stood still', async () => {
    const test = new EventEmitter();
    smtp.answerAfter(once(test, 'answer'));
    const hasty = new Mailer({ smtpUrl: smtp.url, from, timeoutMs: 3_000 });
    const outcome = hasty.send('b@example.com', message, 'ntf_1', never);
    await waitFor(async () => smtp.mails.length === 1);
    test.emit('answer');
    // The server writes its answer, and nothing is read before the process stands still.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    standStill(3_500);
    smtp.answerAfter(Promise.resolve());
    expect(await outcome).toEqual({ kind: 'sent' });
    hasty.close();
  });

  it('is tried again when there is no server', async () => {
    const away = new Mailer({ smtpUrl: `smtp://127.0.0.1:${await findClosedPort()}`, from });
    const outcome = await away.send('b@example.com', message, 'ntf_1', never);
    expect(outcome).toEqual({ kind: 'failed', error: 'smtp ESOCKET', isForGood: false });
  });

  it('does not hold up a process that stops', async () => {
    const scene = openScene();
    await confirmed(scene);
    await fails(await addEndpoint(scene));
    const test = new EventEmitter();
    smtp.answerAfter(once(test, 'answer'));
    now += 12 * MINUTE;
    await redis.client.zadd(keys.contactAccounts, 'LT', now, accountId);
    const running = scene.notifier.runOnce();
    await waitFor(async () => smtp.mails.length === 1);
    await scene.notifier.stop();
    await running;
    test.emit('answer');
    smtp.answerAfter(Promise.resolve());
    const { notifications } = await scene.notificationStore.list(accountId, 10);
    expect(notifications).toMatchObject([{ status: 'pending', attempts: 0 }]);
  });

  it('has one recipient, and no header that anybody but us has written', async () => {
    const hostile = 'x@example.com>\r\nBcc: <y@example.com';
    const outcome = await mailer.send(hostile, message, 'ntf_1', never);
    const bcc = smtp.mails.flatMap(({ to }) => to);
    expect([outcome.kind, bcc.includes('y@example.com')]).toEqual([expect.any(String), false]);
    expect(smtp.mails.map(({ raw }) => raw).join()).not.toMatch(/^Bcc:/im);
  });

  it('says nothing of the password of the server, nor of a URL', async () => {
    const wrong = new Mailer({
      smtpUrl: smtp.url.replace(SMTP_PASSWORD, 'wrong-secret'),
      from: 'a@example.com',
    });
    const scene = openScene({ mailer: wrong });
    answer = answered(500);
    await addContact(scene.contactStore, {
      kind: 'slack',
      target: 'https://hooks.slack.com/services/url-secret',
    });
    await confirmed(scene);
    await fails(await addEndpoint(scene));
    await lookAfter(scene, 12 * MINUTE);
    wrong.close();
    const { notifications } = await scene.notificationStore.list(accountId, 10);
    expect(notifications.map(({ error }) => error).sort()).toEqual(['http 500', 'smtp 535']);
    const stored = await redis.client.hvals(keys.contacts(accountId));
    expect(JSON.stringify([signals.all(), notifications, stored])).not.toMatch(
      /wrong-secret|url-secret|ops@/,
    );
  });
});

/** A connection that does nothing more after so many commands, as that of a process that is dead. */
function dyingAfter(commands: number): { client: Redis; died: Promise<void>; isDead: () => boolean } {
  const client = new Redis(redis.url);
  let left = commands;
  let die = () => {};
  const died = new Promise<void>((resolve) => {
    die = resolve;
  });
  const send = client.sendCommand.bind(client);
  client.sendCommand = (...args) => {
    // Its own greeting does not count.
    if (client.status !== 'ready') return send(...args);
    left -= 1;
    if (left >= 0) return send(...args);
    die();
    return new Promise(() => {});
  };
  return { client, died, isDead: () => left < 0 };
}

describe('a worker that dies', () => {
  // All that it does with Redis: a kill between two of these is a kill before the later one.
  const MOST_COMMANDS = 60;

  it.each(['unconfirmed', 'confirmed'] as const)(
    'before any of its steps loses no message to an %s contact, and sends it twice at most',
    async (status) => {
      let deaths = 0;
      let twice = 0;
      for (let commands = 0; commands < MOST_COMMANDS; commands++) {
        await redis.client.flushdb();
        (smtp.mails as unknown[]).length = 0;
        now = START;
        const scene = openScene();
        if (status === 'confirmed') await confirmed(scene);
        else await addContact(scene.contactStore, { status });
        await fails(await addEndpoint(scene));
        now += 12 * MINUTE;
        await redis.client.zadd(keys.contactAccounts, 'LT', now, accountId);

        const { client, died, isDead } = dyingAfter(commands);
        await once(client, 'ready');
        await Promise.race([openScene({}, client).notifier.runOnce(), died]);
        if (isDead()) deaths += 1;
        now += LOOK_CLAIM_MS;
        await lookAfter(scene, 0);
        await lookAfter(scene, LOOK_CLAIM_MS);
        client.disconnect();

        const ids = smtp.mails.map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1]);
        expect([1, 2]).toContain(ids.length);
        expect(new Set(ids).size).toBe(1);
        if (ids.length === 2) twice += 1;
        const { notifications } = await scene.notificationStore.list(accountId, 10);
        expect(notifications).toMatchObject([{ status: 'sent' }]);
        if (!isDead()) break;
      }
      expect(deaths).toBeGreaterThan(5);
      expect(deaths).toBeLessThan(MOST_COMMANDS);
      // Killed between the mail and its record: no other moment brings it twice.
      expect(twice).toBe(1);
    },
  );

  it('leaves no two workers that tell the same at once', async () => {
    const scene = openScene();
    await confirmed(scene);
    await fails(await addEndpoint(scene));
    now += 12 * MINUTE;
    const notified = await scene.notificationStore.readNotified(accountId);
    const changes = { set: { 'failing x': '1' }, del: [], add: [] };
    const all = await Promise.all(
      [1, 2, 3].map(() => scene.notificationStore.notify(accountId, notified, changes)),
    );
    expect(all.filter(Boolean)).toHaveLength(1);
  });
});

describe('an account without contacts', () => {
  it('costs nothing, and leaves nothing behind', async () => {
    const scene = openScene();
    const contact = await confirmed(scene);
    await scene.contactStore.remove(accountId, contact.id);
    await lookAfter(scene, 0);
    expect(await redis.client.exists(keys.contactAccounts, keys.notified(accountId))).toBe(0);
  });
});

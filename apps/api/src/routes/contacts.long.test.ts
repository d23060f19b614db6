import { type ContactId, linkTokenOf } from '@hookferry/core/domain/contact';
import { keys } from '@hookferry/core/domain/keys';
import {
  CONFIRMATIONS_AN_HOUR,
  ContactStore,
  MAX_CONTACTS,
} from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { ALL } from '@hookferry/core/platform/redis-take-one';
import { buildContact } from '@hookferry/core/testing/build-contact';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueContactId, uniqueEndpointId, uniqueNotificationId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const SLACK = 'https://hooks.slack.com/services/T000/B000/path-secret';
let count = 0;
const newAddress = () => `ops-${count++}@example.com`;

let key: string;
let accountId: Awaited<ReturnType<TestApi['issueKey']>>['accountId'];
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});

function call(method: 'get' | 'post' | 'patch' | 'delete', path: string, at = api) {
  return request(at.url)[method](path).set('authorization', `Bearer ${key}`);
}

const create = (body: object, at = api) => call('post', '/v1/contacts', at).send(body);

async function linkOf(id: string, purpose: 'confirm' | 'unsubscribe') {
  const all = await new ContactStore(api.redis.client, testSealer).list(accountId);
  const contact = all.find((each) => each.id === id);
  if (!contact) throw new Error('There is no such contact.');
  return `/contacts/${linkTokenOf(contact, purpose)}/${purpose}`;
}

async function auditOf() {
  const { data } = (await call('get', '/v1/audit-log')).body;
  const done = data.filter(({ outcome }: { outcome: string }) => outcome === 'ok');
  return done.map(({ action }: { action: string }) => action);
}

describe('a contact', () => {
  it('is made unconfirmed, listed, changed and deleted, and each is on record', async () => {
    const made = await create({
      type: 'email',
      address: newAddress(),
      occasions: ['disabled'],
      digest: 'daily',
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ status: 'unconfirmed', occasions: ['disabled'], digest: 'daily' });
    const path = `/v1/contacts/${made.body.id}`;
    const changed = await call('patch', path).send({ occasions: null, digest: 'hourly' });
    expect(changed.body).toMatchObject({ occasions: null, digest: 'hourly', webhook_id: null });
    expect((await call('get', '/v1/contacts')).body.data).toEqual([changed.body]);
    expect((await call('delete', path)).status).toBe(204);
    expect(readProblem(await call('delete', path))).toMatchObject({ code: 'not_found' });
    expect((await call('get', '/v1/contacts')).body.data).toEqual([]);
    expect(await auditOf()).toEqual(['contact.delete', 'contact.update', 'contact.create']);
  });

  it('of a chat shows the host of its URL alone, and is sealed in Redis', async () => {
    const made = await create({ type: 'slack', url: SLACK });
    expect(made.body.target).toBe('hooks.slack.com');
    const stored = await api.redis.client.hvals(keys.contacts(accountId));
    expect(stored).toHaveLength(1);
    expect(JSON.stringify([stored, made.body, api.signals.all()])).not.toContain('path-secret');
  });

  it('gets a test message once it has confirmed, and times by its clock', async () => {
    const made = await create({ type: 'email', address: newAddress(), time_zone: 'Europe/Berlin' });
    const { id } = made.body;
    expect(made.body.time_zone).toBe('Europe/Berlin');
    const test = () => call('post', `/v1/contacts/${id}/test`);
    expect(readProblem(await test())).toMatchObject({ status: 409, code: 'conflict' });
    await request(api.url).post(await linkOf(id, 'confirm'));
    const asked = await test();
    expect([asked.status, asked.body.id]).toEqual([202, id]);
    const patched = await call('patch', `/v1/contacts/${id}`).send({ time_zone: null });
    expect(patched.body.time_zone).toBeNull();
    const wrong = await call('patch', `/v1/contacts/${id}`).send({ time_zone: 'Mars/Olympus' });
    expect(readProblem(wrong)).toMatchObject({ status: 422 });
    expect(wrong.body.errors).toMatchObject([{ pointer: '/time_zone' }]);
  });

  it('is asked again until it has answered, as often as an address may be', async () => {
    const { id } = (await create({ type: 'email', address: newAddress() })).body;
    const again = () => call('post', `/v1/contacts/${id}/ask-again`);
    for (let each = 1; each < CONFIRMATIONS_AN_HOUR.ofAccountAtTarget; each++) {
      const asked = await again();
      expect([asked.status, asked.body.id]).toEqual([202, id]);
    }
    expect(readProblem(await again())).toMatchObject({ status: 429, code: 'rate_limited' });
    await request(api.url).post(await linkOf(id, 'confirm'));
    expect(readProblem(await again())).toMatchObject({ status: 409, code: 'conflict' });
    const test = await call('post', `/v1/contacts/${id}/test`);
    expect(readProblem(test)).toMatchObject({ status: 429, code: 'rate_limited' });
    await request(api.url).post(await linkOf(id, 'unsubscribe'));
    const refused = await again();
    expect(readProblem(refused)).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.body.detail).toContain('unsubscribed');
  });

  it('by mail may have an address with letters of its own alphabet in its domain', async () => {
    const made = await create({ type: 'email', address: `ops-${count++}@münchen.example` });
    expect([made.status, made.body.target]).toEqual([
      201,
      expect.stringMatching(/@xn--mnchen-3ya\.example$/),
    ]);
  });

  it.each([
    ['a character that no address has', { type: 'email', address: 'a@exa mple.com' }, '/address'],
    ['a null byte in an address', { type: 'email', address: 'a\u0000@example.com' }, '/address'],
    ['a source route', { type: 'email', address: '@b.example:a@example.com' }, '/address'],
    ['a line break behind an address', { type: 'email', address: 'a@example.com\r\n' }, '/address'],
    ['a pipe in place of an address', { type: 'email', address: '|/bin/sh@example.com\n' }, '/address'],
    ['an address within a name', { type: 'email', address: 'A <a@example.com>' }, '/address'],
    ['an address that is too long', { type: 'email', address: `${'a'.repeat(300)}@example.com` }, '/address'],
    ['a domain that is too long', { type: 'email', address: `a@${'ü'.repeat(250)}.example` }, '/address'],
    ['a private address in other clothes', { type: 'webhook', url: 'https://0x7f.1/hook' }, '/url'],
    ['an address of the machine', { type: 'webhook', url: 'https://[::ffff:127.0.0.1]/hook' }, '/url'],
    ['an address that is none', { type: 'email', address: 'ops' }, '/address'],
    ['several addresses', { type: 'email', address: 'a@example.com,b@example.com' }, '/address'],
    [
      'a line break in an address',
      { type: 'email', address: 'a@example.com\r\nBcc: b@example.com' },
      '/address',
    ],
    ['no address', { type: 'email' }, '/address'],
    ['an address for a chat', { type: 'slack', url: SLACK, address: 'a@example.com' }, '/address'],
    ['no URL', { type: 'webhook' }, '/url'],
    ['an address within', { type: 'webhook', url: 'https://169.254.169.254/latest' }, '/url'],
    ['another host than Slack', { type: 'slack', url: 'https://example.com/services' }, '/url'],
    ['a host that looks like Slack', { type: 'slack', url: 'https://hooks.slack.com.example.com/x' }, '/url'],
    ['an unknown occasion', { type: 'slack', url: SLACK, occasions: ['all'] }, '/occasions/0'],
  ])('is refused for %s', async (_fault, body, pointer) => {
    const problem = readProblem(await create(body));
    expect(problem).toMatchObject({ status: 422, code: 'invalid_request' });
    expect(problem.pointers).toEqual([pointer]);
  });

  it('is refused for a webhook that is not there', async () => {
    const body = { type: 'email', address: newAddress(), webhook_id: uniqueEndpointId() };
    expect(readProblem(await create(body))).toMatchObject({ code: 'not_found' });
  });

  it('is refused where mail, or the links, are not set up', async () => {
    for (const unset of ['MAIL_FROM', 'PUBLIC_URL']) {
      const other = await startTestApi({ REDIS_URL: api.redis.url, [unset]: '' });
      const answer = await create({ type: 'email', address: newAddress() }, other);
      await other.close();
      expect(readProblem(answer)).toMatchObject({ code: 'invalid_request' });
      expect(answer.body.errors[0].detail).toContain(unset);
    }
  });

  it('is asked to confirm a few times an hour, whichever account asks: no account alone refuses the others', async () => {
    const address = newAddress();
    const { ofTarget, ofAccountAtTarget } = CONFIRMATIONS_AN_HOUR;
    const granted = [];
    for (let account = 0; account <= ofTarget / ofAccountAtTarget; account++) {
      ({ key } = await api.issueKey());
      for (let each = 0; each <= ofAccountAtTarget; each++) {
        granted.push((await create({ type: 'email', address: address.toUpperCase() })).status === 201);
      }
    }
    const perAccount = [true, true, true, false];
    expect(granted).toEqual([...perAccount, ...perAccount, false, false, false, false]);
    const answer = await create({ type: 'email', address });
    expect(readProblem(answer)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(3_000);
  });

  it.each([
    ['a tag', (name: string, each: number) => `${name}+${each}x@example.com`],
    [
      'dots, where they are no part of it',
      (name: string, each: number) => `${name.slice(0, each + 1)}.${name.slice(each + 1)}@gmail.com`,
    ],
    [
      'a second name of its domain',
      (name: string, each: number) => `${name}@${each % 2 ? 'googlemail' : 'gmail'}.com`,
    ],
  ])('is one mailbox however it is written: with %s', async (_how, write) => {
    const name = `victim${count++}`;
    const statuses = [];
    for (let each = 0; each <= CONFIRMATIONS_AN_HOUR.ofAccountAtTarget; each++) {
      statuses.push((await create({ type: 'email', address: write(name, each) })).status);
    }
    expect(statuses).toEqual([201, 201, 201, 429]);
  });

  it('counts for its account when it is deleted again, and when it is asked again', async () => {
    const { ofAccount } = CONFIRMATIONS_AN_HOUR;
    for (let each = 0; each < ofAccount; each += 2) {
      const { id } = (await create({ type: 'email', address: newAddress() })).body;
      expect((await call('post', `/v1/contacts/${id}/ask-again`)).status).toBe(202);
      expect((await call('delete', `/v1/contacts/${id}`)).status).toBe(204);
    }
    const refused = await create({ type: 'webhook', url: 'https://ops.example.com/told' });
    expect(readProblem(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(refused.body.detail).toContain(`${ofAccount} confirmations`);
    ({ key } = await api.issueKey());
    expect((await create({ type: 'email', address: newAddress() })).status).toBe(201);
  });

  it('is asked no more often than the service may ask anybody', async () => {
    const { ofService } = CONFIRMATIONS_AN_HOUR;
    await api.redis.client.hset(keys.allConfirmations, ALL, ofService - 1);
    expect((await create({ type: 'email', address: newAddress() })).status).toBe(201);
    const refused = await create({ type: 'email', address: newAddress() });
    await api.redis.client.del(keys.allConfirmations);
    expect(readProblem(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(refused.body.detail).toContain('The service');
  });

  it('of a chat has https and the standard port, also where http is allowed', async () => {
    const trial = await startTestApi({ REDIS_URL: api.redis.url, ALLOW_HTTP_URLS: 'true' });
    const urls = ['http://hooks.slack.com/services/T/B/x', 'https://hooks.slack.com:8443/services/T/B/x'];
    const answers = [];
    for (const url of urls) answers.push(await create({ type: 'slack', url }, trial));
    const webhook = await create({ type: 'webhook', url: 'http://ops.example.com:8443/told' }, trial);
    await trial.close();
    for (const answer of answers)
      expect(readProblem(answer)).toMatchObject({ status: 422, pointers: ['/url'] });
    expect(webhook.status).toBe(201);
  });

  it('is one of a bounded number', async () => {
    const answers = [];
    for (let each = 0; each <= MAX_CONTACTS; each++) {
      answers.push(await create({ type: 'email', address: newAddress() }));
    }
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_CONTACTS);
    expect(readProblem(answers[MAX_CONTACTS] as (typeof answers)[0])).toMatchObject({
      code: 'limit_reached',
    });
  });
});

describe('the messages', () => {
  const idsOf = async (query: string) => {
    const { body, status } = await call('get', `/v1/notifications${query}`);
    expect(status).toBe(200);
    return body;
  };

  beforeEach(async () => {
    const add = Array.from({ length: 30 }, (_, each) => ({
      notification: {
        id: uniqueNotificationId(),
        contactId: (each % 2 === 0 ? contactIds[0] : contactIds[1]) as ContactId,
        kind: 'email' as const,
        topic: each % 3 === 0 ? ('failing' as const) : ('recovered' as const),
        subjects: [],
        status: each % 5 === 0 ? ('failed' as const) : ('sent' as const),
        attempts: 1,
        createdAt: each,
      },
      dueAt: each,
    }));
    const contact = buildContact({ accountId });
    await new ContactStore(api.redis.client, testSealer).create(contact);
    const store = new NotificationStore(api.redis.client);
    await store.notify(accountId, { version: '0', fields: {} }, { set: {}, del: [], add });
  });
  const contactIds = [uniqueContactId(), uniqueContactId()];

  it.each([
    ['', 30],
    ['topic=failing', 10],
    ['status=failed', 6],
    [`contact_id=${contactIds[0]}`, 15],
    [`contact_id=${contactIds[0]}&topic=failing&status=failed`, 1],
    ['topic=quota_80', 0],
  ])('are filtered by %s, in pages that have each once', async (filter, expected) => {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${cursor}`;
      const body = await idsOf(`?limit=4&${filter}${from}`);
      found.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect([found.length, new Set(found).size]).toEqual([expected, expected]);
    expect(found).toEqual(found.toSorted().toReversed());
  });

  it('are not filtered by what is no topic', async () => {
    const answer = await call('get', '/v1/notifications?topic=all');
    expect(readProblem(answer)).toMatchObject({ status: 422, code: 'invalid_request' });
  });
});

describe('the link in a message', () => {
  const statusOf = async () => (await call('get', '/v1/contacts')).body.data[0].status;

  it('asks first, and does what it is for when the button is pressed', async () => {
    const { id } = (await create({ type: 'email', address: newAddress() })).body;
    const path = await linkOf(id, 'confirm');
    const page = await request(api.url).get(path);
    expect(page.text).toContain('<form method="post">');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    const closed = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
    expect(page.headers).toMatchObject(closed);
    expect(await statusOf()).toBe('unconfirmed');
    expect((await request(api.url).post(path)).status).toBe(200);
    expect(await statusOf()).toBe('confirmed');
    expect(await auditOf()).toEqual(['contact.confirm', 'contact.create']);
  });

  it('unsubscribes by one click of a mail program, and for good', async () => {
    const { id } = (await create({ type: 'email', address: newAddress() })).body;
    const path = await linkOf(id, 'unsubscribe');
    const answer = await request(api.url).post(path).type('form').send('List-Unsubscribe=One-Click');
    expect(answer.status).toBe(200);
    expect(await statusOf()).toBe('unsubscribed');
    await request(api.url).post(await linkOf(id, 'confirm'));
    expect(await statusOf()).toBe('unsubscribed');
  });

  it('is not there for a token that is not right', async () => {
    for (const token of ['x', 'a'.repeat(600), '%F0%9F%92%A9']) {
      for (const method of ['get', 'post'] as const) {
        expect((await request(api.url)[method](`/contacts/${token}/confirm`)).status).toBe(404);
      }
    }
  });
});

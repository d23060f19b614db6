import { linkTokenOf } from '@hookferry/core/domain/contact';
import { keys } from '@hookferry/core/domain/keys';
import {
  CONFIRMATIONS_AN_HOUR,
  ContactStore,
  MAX_CONTACTS,
} from '@hookferry/core/notifications/redis-contact-store';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId } from '@hookferry/core/testing/unique-ids';
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
      kind: 'email',
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
    const made = await create({ kind: 'slack', url: SLACK });
    expect(made.body.target).toBe('hooks.slack.com');
    const stored = await api.redis.client.hvals(keys.contacts(accountId));
    expect(stored).toHaveLength(1);
    expect(JSON.stringify([stored, made.body, api.signals.all()])).not.toContain('path-secret');
  });

  it.each([
    ['an address that is none', { kind: 'email', address: 'ops' }, '/address'],
    ['several addresses', { kind: 'email', address: 'a@example.com,b@example.com' }, '/address'],
    [
      'a line break in an address',
      { kind: 'email', address: 'a@example.com\r\nBcc: b@example.com' },
      '/address',
    ],
    ['no address', { kind: 'email' }, '/address'],
    ['an address for a chat', { kind: 'slack', url: SLACK, address: 'a@example.com' }, '/address'],
    ['no URL', { kind: 'webhook' }, '/url'],
    ['an address within', { kind: 'webhook', url: 'https://169.254.169.254/latest' }, '/url'],
    ['another host than Slack', { kind: 'slack', url: 'https://example.com/services' }, '/url'],
    ['a host that looks like Slack', { kind: 'slack', url: 'https://hooks.slack.com.example.com/x' }, '/url'],
    ['an unknown occasion', { kind: 'slack', url: SLACK, occasions: ['all'] }, '/occasions/0'],
  ])('is refused for %s', async (_fault, body, pointer) => {
    const problem = readProblem(await create(body));
    expect(problem).toMatchObject({ status: 422, code: 'invalid_request' });
    expect(problem.pointers).toEqual([pointer]);
  });

  it('is refused for a webhook that is not there', async () => {
    const body = { kind: 'email', address: newAddress(), webhook_id: uniqueEndpointId() };
    expect(readProblem(await create(body))).toMatchObject({ code: 'not_found' });
  });

  it('is refused where mail, or the links, are not set up', async () => {
    for (const unset of ['MAIL_FROM', 'PUBLIC_URL']) {
      const other = await startTestApi({ REDIS_URL: api.redis.url, [unset]: '' });
      const answer = await create({ kind: 'email', address: newAddress() }, other);
      await other.close();
      expect(readProblem(answer)).toMatchObject({ code: 'invalid_request' });
      expect(answer.body.errors[0].detail).toContain(unset);
    }
  });

  it('is asked to confirm a few times an hour, whichever account asks', async () => {
    const address = newAddress();
    for (let each = 0; each < CONFIRMATIONS_AN_HOUR; each++) {
      expect((await create({ kind: 'email', address })).status).toBe(201);
    }
    ({ key } = await api.issueKey());
    const answer = await create({ kind: 'email', address: address.toUpperCase() });
    expect(readProblem(answer)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(3_000);
  });

  it('is one of a bounded number', async () => {
    const answers = [];
    for (let each = 0; each <= MAX_CONTACTS; each++) {
      answers.push(await create({ kind: 'email', address: newAddress() }));
    }
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_CONTACTS);
    expect(readProblem(answers[MAX_CONTACTS] as (typeof answers)[0])).toMatchObject({
      code: 'limit_reached',
    });
  });
});

describe('the link in a message', () => {
  const statusOf = async () => (await call('get', '/v1/contacts')).body.data[0].status;

  it('asks first, and does what it is for when the button is pressed', async () => {
    const { id } = (await create({ kind: 'email', address: newAddress() })).body;
    const path = await linkOf(id, 'confirm');
    const page = await request(api.url).get(path);
    expect(page.text).toContain('<form method="post">');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(await statusOf()).toBe('unconfirmed');
    expect((await request(api.url).post(path)).status).toBe(200);
    expect(await statusOf()).toBe('confirmed');
    expect(await auditOf()).toEqual(['contact.confirm', 'contact.create']);
  });

  it('unsubscribes by one click of a mail program, and for good', async () => {
    const { id } = (await create({ kind: 'email', address: newAddress() })).body;
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

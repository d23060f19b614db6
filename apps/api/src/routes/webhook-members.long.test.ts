import { randomBytes } from 'node:crypto';
import type { AccountId } from '@hookferry/core/domain/account';
import { FAILURES_TO_OPEN } from '@hookferry/core/domain/breaker';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { AcceptedEvent } from '@hookferry/core/domain/event';
import { keys } from '@hookferry/core/domain/keys';
import { oneShard } from '@hookferry/core/domain/queues';
import type { FailedAttempt } from '@hookferry/core/endpoints/health/attempt-tally';
import { tallyOf } from '@hookferry/core/endpoints/health/attempt-tally';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { buildFailedAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEvent } from '@hookferry/core/testing/build-event';
import {
  clientCertificate,
  clientKey,
  expiredCertificate,
  otherCertificate,
} from '@hookferry/core/testing/certificates';
import { createClosables } from '@hookferry/core/testing/closables';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  // Beyond what is large: see the heavy turns.
  api = await startTestApi({ MAX_EVENT_BYTES: '65536' });
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

describe('secrets', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  function call(
    method: 'get' | 'post' | 'patch' | 'delete',
    path: string,
    body?: object,
    url = api.url,
  ): Test {
    const test = request(url)[method](path).set('authorization', `Bearer ${key}`);
    return body === undefined ? test : test.send(body);
  }

  async function created(change: object = {}) {
    const minimal = { url: 'https://receiver.example.com/hooks', events: ['*'] };
    const { body } = await call('post', '/v1/webhooks', { ...minimal, ...change });
    return { ...body, path: `/v1/webhooks/${body.id}` } as { id: string; secret: string; path: string };
  }

  const readSecret = async (path: string) => (await call('get', `${path}/secret`)).body.secret as string;

  describe('GET /v1/webhooks/:id/secret', () => {
    it('shows the secret, and asks all on the way not to keep it', async () => {
      const { path, secret } = await created();
      const { body, headers } = await call('get', `${path}/secret`);
      expect(body).toEqual({ secret });
      expect(headers['cache-control']).toBe('no-store');
    });
  });

  describe('POST /v1/webhooks/:id/rotate-secret', () => {
    it('gives a new secret, and says until when the one before signs', async () => {
      const { path, secret } = await created();
      const { status, body, headers } = await call('post', `${path}/rotate-secret`, {});
      expect(status).toBe(201);
      expect(body).toEqual({
        secret: expect.stringMatching(/^whsec_/),
        previous_secret_expires_at: expect.stringMatching(/Z$/),
      });
      expect(body.secret).not.toBe(secret);
      expect(headers['cache-control']).toBe('no-store');
      expect(await readSecret(path)).toBe(body.secret);
      const { updated_at } = (await call('get', path)).body;
      expect(Date.parse(body.previous_secret_expires_at)).toBe(Date.parse(updated_at) + 86_400_000);
    });

    it('needs no body, and neither does a test event', async () => {
      const { path, secret } = await created();
      const rotated = await call('post', `${path}/rotate-secret`);
      expect(rotated.status).toBe(201);
      expect(rotated.body.secret).not.toBe(secret);
      expect((await call('post', `${path}/test`)).status).toBe(202);
      const notJson = await call('post', `${path}/test`).set('content-type', 'text/plain').send('now');
      expect(readProblem(notJson)).toEqual({ status: 415, code: 'unsupported_media_type' });
    });

    it("takes the client's own secret, and one that signs already not again", async () => {
      const { path, secret: former } = await created();
      const secret = newSecret();
      const { body } = await call('post', `${path}/rotate-secret`, { secret, overlap_seconds: 60 });
      expect(body.secret).toBe(secret);
      for (const live of [secret, former]) {
        const response = await call('post', `${path}/rotate-secret`, { secret: live });
        expect(readProblem(response)).toEqual({
          status: 422,
          code: 'invalid_request',
          pointers: ['/secret'],
        });
        expect(response.text).not.toContain(live);
      }
      expect(await readSecret(path)).toBe(secret);
    });

    it('refuses a sixth secret with 409, and has all others end when there is to be no overlap', async () => {
      const { path } = await created();
      for (let i = 0; i < 4; i += 1) await call('post', `${path}/rotate-secret`, {}).expect(201);
      const refused = await call('post', `${path}/rotate-secret`, {});
      expect(readProblem(refused)).toEqual({ status: 409, code: 'conflict' });
      await call('post', `${path}/rotate-secret`, { overlap_seconds: 0 }).expect(201);
      await call('post', `${path}/rotate-secret`, {}).expect(201);
    });

    it.each([
      [{ overlap_seconds: -1 }, '/overlap_seconds'],
      [{ overlap_seconds: 604_801 }, '/overlap_seconds'],
      [{ overlap_seconds: null }, '/overlap_seconds'],
      [{ secret: 'whsec_short' }, '/secret'],
    ])('refuses %j, and rotates nothing', async (body, pointer) => {
      const { path, secret } = await created();
      const response = await call('post', `${path}/rotate-secret`, body);
      expect(readProblem(response)).toMatchObject({ status: 422, pointers: [pointer] });
      expect(await readSecret(path)).toBe(secret);
    });
  });

  describe('the TLS material of a webhook', () => {
    const tls = { ca: otherCertificate, client_certificate: clientCertificate, client_key: clientKey };
    const shownClient = {
      subject: 'O=Tests, CN=Client of a test',
      fingerprint_sha256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      expires_at: '2126-10-28T15:15:08.000Z',
    };

    it('is shown by what its certificates say, and never with the key', async () => {
      const { path, ...webhook } = await created({ tls });
      const shown = {
        ca: { ...shownClient, subject: 'O=Tests, CN=Other client of a test' },
        client_certificate: shownClient,
      };
      expect(webhook).toMatchObject({ tls: shown });
      const read = await call('get', path);
      expect(read.body.tls).toEqual(shown);
      expect(read.text.replace('public_key', '')).not.toMatch(/key|BEGIN/);
    });

    it('is changed and removed by a merge patch', async () => {
      const { path } = await created({ tls });
      const without = await call('patch', path, { tls: { ca: null } });
      expect(without.body.tls).toEqual({ ca: null, client_certificate: shownClient });
      expect((await call('patch', path, { description: 'new' })).body.tls).toEqual(without.body.tls);
      expect((await call('patch', path, { tls: null })).body).toMatchObject({ tls: null });
    });

    it.each([
      ['a key without its certificate', { client_key: clientKey }, '/tls/client_certificate'],
      ['a certificate without its key', { client_certificate: clientCertificate }, '/tls/client_key'],
      ["another certificate's key", { ...tls, client_certificate: otherCertificate }, '/tls/client_key'],
      [
        'an expired certificate',
        { ...tls, client_certificate: expiredCertificate },
        '/tls/client_certificate',
      ],
      ['what is no certificate', { ca: 'PEM' }, '/tls/ca'],
      ['what is unknown', { ciphers: 'ALL' }, '/tls/ciphers'],
    ])('is refused for %s', async (_what, wrong, pointer) => {
      const { path } = await created();
      for (const response of [
        await call('post', '/v1/webhooks', { url: 'https://example.com/', events: ['*'], tls: wrong }),
        await call('patch', path, { tls: wrong }),
      ]) {
        expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers: [pointer] });
        expect(response.text).not.toContain('BEGIN');
      }
    });
  });

  describe('without the key that sealed the secrets', () => {
    it('says so for each that would read them, and still deletes', async () => {
      const { path } = await created();
      const other = willClose(
        await startApi({
          REDIS_URL: api.redis.url,
          SECRETS_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        }),
      );
      await untilReady(other.url);
      for (const response of [
        await call('get', path, undefined, other.url),
        await call('get', '/v1/webhooks', undefined, other.url),
        await call('patch', path, { description: 'new' }, other.url),
        await call('get', `${path}/secret`, undefined, other.url),
        await call('post', `${path}/rotate-secret`, {}, other.url),
      ]) {
        expect(readProblem(response)).toEqual({ status: 500, code: 'secret_unreadable' });
      }
      expect(other.signals.named('request.failed')).toHaveLength(5);
      await call('delete', path, undefined, other.url).expect(204);
    });
  });

  describe('without any key', () => {
    it('warns at the start that secrets are stored as plain text', async () => {
      const plain = willClose(
        await startApi({
          REDIS_URL: api.redis.url,
          SECRETS_ENCRYPTION_KEY: '',
          INSECURE_UNENCRYPTED_SECRETS: 'true',
        }),
      );
      expect(plain.signals.named('secrets.unprotected')).toHaveLength(1);
      expect(api.signals.named('secrets.unprotected')).toEqual([]);
    });
  });
});

describe('filters', () => {
  const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
  const filter = { position: { lte: 10 } };

  function send(method: 'post' | 'patch', path: string, body: object, as = key): Test {
    return request(api.url)[method](path).set('authorization', `Bearer ${as}`).send(body);
  }

  const tryFilter = (body: object, as = key) => send('post', '/v1/filters/try', body, as);
  const store = () => new EventStore(api.redis.client, testRetention);

  /** An event of the past, its data as JSON. */
  async function saved(at: number, data: string, type = 'keyword.quick_win'): Promise<AcceptedEvent> {
    const body = `{"type":"${type}","data":${data}}`;
    const event = buildEvent({ accountId, type, body, acceptedAt: ACCEPTED_AT + at });
    await store().save(event)(api.redis.client);
    await store().enlistAll([{ event, deliveries: 0 }])(api.redis.client);
    return event;
  }

  describe('POST /v1/filters/try', () => {
    it('tries a filter on data, and says why', async () => {
      const { body } = await tryFilter({ filter, data: { position: 11 } }).expect(200);
      const because = [{ path: 'position', operator: 'lte', expected: 10, found: 11, holds: false }];
      const result = { event_id: null, event_type: null, created_at: null, matches: false, because };
      expect(body).toEqual({ tried: 1, matched: 0, results: [result] });
    });

    it('tries it on data whose members may have any name, and may be null', async () => {
      const text = '{"filter":{"\\\\__proto__":1},"data":{"__proto__":1}}';
      const answer = await tryFilter({})
        .set('content-type', 'application/json')
        .serialize(() => text);
      expect(answer.body).toMatchObject({ tried: 1, matched: 1 });
      expect((await tryFilter({ filter, data: null })).body).toMatchObject({ tried: 1, matched: 0 });
    });

    it("tries it on the catalogue's example", async () => {
      const { body } = await tryFilter({ filter, event_type: 'keyword.quick_win' }).expect(200);
      expect(body).toMatchObject({
        tried: 1,
        results: [{ event_id: null, event_type: 'keyword.quick_win' }],
      });
      expect(readProblem(await tryFilter({ filter, event_type: 'no.such' }))).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/event_type'],
      });
    });

    it('tries it on an event, of the own account alone', async () => {
      const { id } = await saved(0, '{"position":4}');
      const { body } = await tryFilter({ filter, event_id: id }).expect(200);
      expect(body).toMatchObject({
        tried: 1,
        matched: 1,
        results: [
          {
            event_id: id,
            event_type: 'keyword.quick_win',
            created_at: '2026-11-21T12:00:00.000Z',
            matches: true,
          },
        ],
      });
      const { key: other } = await api.issueKey();
      expect(readProblem(await tryFilter({ filter, event_id: id }, other))).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/event_id'],
      });
    });

    it('tries it on the last events, newest first, and names those whose payload was erased', async () => {
      const near = await saved(0, '{"position":4}');
      const far = await saved(1, '{"position":40}');
      const erased = await saved(2, '{"position":4}');
      const brief = await saved(3, '{"brief_id":"b"}', 'brief.created');
      await store().erasePayload(accountId, erased.id, ACCEPTED_AT);
      const { body } = await tryFilter({ filter }).expect(200);
      const told = (answer: typeof body) =>
        answer.results.map(({ event_id, matches }: Record<string, unknown>) => [event_id, matches]);
      expect(told(body)).toEqual([
        [brief.id, false],
        [erased.id, null],
        [far.id, false],
        [near.id, true],
      ]);
      expect(body).toMatchObject({ tried: 3, matched: 1 });
      expect(told((await tryFilter({ filter, last: 1 })).body)).toEqual([[brief.id, false]]);
      const { body: keywords } = await tryFilter({ filter, events: ['keyword.*'], last: 2 });
      expect(told(keywords)).toEqual([
        [erased.id, null],
        [far.id, false],
      ]);
    });

    it('shows what was published only to keys that may read it', async () => {
      const { id } = await saved(0, '{"position":4}');
      const { key: narrow } = await api.issueKey({ accountId, scopes: ['webhooks:read'] });
      await tryFilter({ filter, data: {} }, narrow).expect(200);
      await tryFilter({ filter, event_type: 'keyword.quick_win' }, narrow).expect(200);
      for (const body of [{ filter, event_id: id }, { filter }]) {
        expect(readProblem(await tryFilter(body, narrow))).toMatchObject({ code: 'insufficient_scope' });
      }
    });

    it.each<[string, object, string[]]>([
      ['no filter', { data: {} }, ['/filter']],
      [
        'an invalid filter',
        { filter: { position: { lte: 'ten' }, a: { lessthan: 1 } } },
        ['/filter/a/lessthan'],
      ],
      ['several things at once', { filter, data: {}, event_id: 'e', last: 1 }, ['/event_id', '/last']],
      ['too many', { filter, last: 101 }, ['/last']],
      ['unknown types', { filter, events: ['no.such'] }, ['/events/0']],
    ])('refuses %s', async (_what, body, pointers) => {
      expect(readProblem(await tryFilter(body))).toEqual({ status: 422, code: 'invalid_request', pointers });
    });

    it('takes one turn for large data, not a second one that waits for the first to end', async () => {
      const data = { position: 1, text: 'x'.repeat(20_000) };
      const answers = await Promise.all(Array.from({ length: 5 }, () => tryFilter({ filter, data })));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    });
  });

  describe('the filter of a webhook', () => {
    const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };

    it('is given, replaced as a whole, and taken away', async () => {
      const { body } = await send('post', '/v1/webhooks', { ...webhook, filter }).expect(201);
      expect(body).toMatchObject({ filter });
      const path = `/v1/webhooks/${body.id}`;
      const other = { 'a.b': null, $any: [{ c: 1 }, { c: { exists: false } }] };
      expect((await send('patch', path, { filter: other }).expect(200)).body.filter).toEqual(other);
      expect((await send('patch', path, { description: 'x' }).expect(200)).body.filter).toEqual(other);
      expect((await send('patch', path, { filter: null }).expect(200)).body).toMatchObject({ filter: null });
    });

    it('is refused with where it is wrong', async () => {
      const wrong = { position: { lte: '10' } };
      const answer = await send('post', '/v1/webhooks', { ...webhook, filter: wrong });
      expect(answer.body.errors).toEqual([
        { pointer: '/filter/position/lte', detail: 'must be a number: 10, without quotes' },
      ]);
    });
  });
});

describe('health', () => {
  const HOUR_MS = 3_600_000;

  let healthStore: HealthStore;
  let id: EndpointId;
  beforeAll(() => {
    healthStore = new HealthStore(api.redis.client, 60_000);
  });
  beforeEach(async () => {
    const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };
    const response = await request(api.url)
      .post('/v1/webhooks')
      .set('authorization', `Bearer ${key}`)
      .send(webhook);
    ({ id } = response.body);
  });

  async function readHealth() {
    const response = await request(api.url).get(`/v1/webhooks/${id}`).set('authorization', `Bearer ${key}`);
    return response.body.health;
  }

  const NOTHING_YET = {
    attempts_24h: 0,
    success_rate: null,
    p95_ms: null,
    last_success_at: null,
    last_failure_at: null,
    last_failure: null,
    breaker: 'closed',
    breaker_retry_at: null,
    disables_at: null,
    held: 0,
    concurrency: null,
    hours: expect.any(Array),
  };

  async function record(at: number, failed?: FailedAttempt): Promise<void> {
    await healthStore.addAll([{ endpointId: id, tally: tallyOf({ failed, at, durationMs: 40 }) }], at);
  }

  describe('the health of a webhook', () => {
    it('is unknown before the first attempt', async () => {
      expect(await readHealth()).toEqual(NOTHING_YET);
    });

    it('shows the attempts of the last 24 hours, and when the last of each kind was', async () => {
      const now = Date.now();
      await record(now - 3_000);
      await record(now - 2_000);
      const failed = buildFailedAttempt({ number: 3 });
      await record(now - 1_000, failed);
      expect(await readHealth()).toEqual({
        ...NOTHING_YET,
        attempts_24h: 3,
        success_rate: 0.6666,
        p95_ms: expect.closeTo(40, -1),
        last_success_at: new Date(now - 2_000).toISOString(),
        last_failure_at: new Date(now - 1_000).toISOString(),
        last_failure: {
          delivery_id: `${failed.eventId}.${id}`,
          attempt_number: 3,
          outcome: 'http_5xx',
          response_status: 500,
        },
      });
    });

    it('counts nothing older, but remembers the last success', async () => {
      const dayAndHourAgo = Date.now() - 25 * HOUR_MS;
      await record(dayAndHourAgo);
      expect(await readHealth()).toEqual({
        ...NOTHING_YET,
        last_success_at: new Date(dayAndHourAgo).toISOString(),
      });
    });

    it.each([
      ['open', HOUR_MS],
      ['half_open', -HOUR_MS],
    ])('says that its breaker is %s', async (breaker, offsetMs) => {
      const now = Date.now();
      const stored = `${FAILURES_TO_OPEN} ${now + offsetMs} ${now - 2 * HOUR_MS} 0`;
      await api.redis.client.set(keys.breaker(id), stored);
      const { breaker_retry_at: openUntil, disables_at: disabledFrom, ...health } = await readHealth();
      expect(health).toMatchObject({ breaker });
      expect(openUntil).toBe(breaker === 'open' ? new Date(now + offsetMs).toISOString() : null);
      // Five days without a success, since it was created.
      expect(Date.parse(disabledFrom)).toBeCloseTo(now + 5 * 24 * HOUR_MS, -5);
    });

    describe('says how many attempts may be under way at once', () => {
      async function say(limits: Readonly<Record<string, number>>, secondsAgo = 1): Promise<void> {
        const at = Date.now() - secondsAgo * 1_000;
        const tally = tallyOf({ at, durationMs: 40 });
        for (const [workerId, limit] of Object.entries(limits)) {
          await healthStore.addAll([{ endpointId: id, tally, limit }], at, workerId);
        }
      }

      async function patch(max_concurrency: number | null): Promise<void> {
        const change = request(api.url).patch(`/v1/webhooks/${id}`).send({ max_concurrency });
        await change.set('authorization', `Bearer ${key}`).expect(200);
      }

      it('at all workers together that have tried it lately', async () => {
        await say({ gone: 32 }, 120);
        await say({ f00d42: 8, c0ffee: 2 });
        const { concurrency } = await readHealth();
        expect(concurrency).toEqual({ limit: 10, workers: 2, reason: 'adaptive' });
      });

      it('and whether that is because of its own bound, from the moment that it is set until it is taken away', async () => {
        await say({ f00d42: 8, c0ffee: 2 });
        await patch(4);
        expect((await readHealth()).concurrency).toEqual({ limit: 6, workers: 2, reason: 'adaptive' });
        await patch(2);
        expect((await readHealth()).concurrency).toEqual({ limit: 4, workers: 2, reason: 'max_concurrency' });
        await patch(null);
        expect((await readHealth()).concurrency).toEqual({ limit: 10, workers: 2, reason: 'adaptive' });
      });

      it('no more once nobody has tried it for a while', async () => {
        await say({ f00d42: 8 }, 90);
        expect((await readHealth()).concurrency).toBeNull();
      });
    });

    it('counts what is held', async () => {
      const heldDeliveries = new HeldDeliveries(api.redis.client, oneShard('bull'));
      const address = { accountId, endpointId: id };
      for (const eventId of [uniqueEventId(), uniqueEventId()]) {
        await heldDeliveries.enter(
          address,
          { eventId, acceptedAt: Date.now() },
          Date.now() + HOUR_MS,
          'busy',
        );
      }
      expect(await readHealth()).toEqual({ ...NOTHING_YET, held: 2 });
    });
  });
});

import type { AccountId } from '@hookferry/core/domain/account';
import { FAILURES_TO_OPEN } from '@hookferry/core/domain/breaker';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { keys } from '@hookferry/core/domain/keys';
import { oneShard } from '@hookferry/core/domain/queues';
import { tallyOf } from '@hookferry/core/endpoints/health/attempt-tally';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const HOUR_MS = 3_600_000;

let api: TestApi;
let healthStore: HealthStore;
let key: string;
let accountId: AccountId;
let id: EndpointId;
beforeAll(async () => {
  api = await startTestApi();
  healthStore = new HealthStore(api.redis.client, 60_000);
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
  const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };
  const response = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', `Bearer ${key}`)
    .send(webhook);
  ({ id } = response.body);
});
afterAll(() => api.close());

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
  breaker: 'closed',
  held: 0,
  concurrency: null,
  hours: expect.any(Array),
};

async function record(delivered: boolean, at: number): Promise<void> {
  await healthStore.add(id, tallyOf({ delivered, at, durationMs: 40 }), at);
}

describe('the health of a webhook', () => {
  it('is unknown before the first attempt', async () => {
    expect(await readHealth()).toEqual(NOTHING_YET);
  });

  it('tells of the attempts of the last 24 hours, and when the last of each kind was', async () => {
    const now = Date.now();
    await record(true, now - 3_000);
    await record(true, now - 2_000);
    await record(false, now - 1_000);
    expect(await readHealth()).toEqual({
      ...NOTHING_YET,
      attempts_24h: 3,
      success_rate: 0.6667,
      p95_ms: expect.closeTo(40, -1),
      last_success_at: new Date(now - 2_000).toISOString(),
      last_failure_at: new Date(now - 1_000).toISOString(),
    });
  });

  it('counts nothing older, but remembers the last success', async () => {
    const dayAndHourAgo = Date.now() - 25 * HOUR_MS;
    await record(true, dayAndHourAgo);
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
    expect(await readHealth()).toEqual({ ...NOTHING_YET, breaker });
  });

  describe('says how many attempts may be under way at once', () => {
    async function say(limits: Readonly<Record<string, number>>, secondsAgo = 1): Promise<void> {
      const at = Date.now() - secondsAgo * 1_000;
      const tally = tallyOf({ delivered: true, at, durationMs: 40 });
      for (const [workerId, limit] of Object.entries(limits)) {
        await healthStore.add(id, tally, at, { workerId, limit });
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
      await heldDeliveries.enter(address, { eventId, acceptedAt: Date.now() }, Date.now() + HOUR_MS, 'busy');
    }
    expect(await readHealth()).toEqual({ ...NOTHING_YET, held: 2 });
  });
});

import { verify } from '@hookferry/receiver';
import { deliveryIdOf } from '../domain/delivery';
import { newestSecret } from '../domain/endpoint';
import type { SendResult } from '../domain/transport';
import {
  type Arrangement,
  DeliveryScene,
  NOW,
  refused,
  responded,
  SCHEDULE,
  SEND_MS,
} from '../testing/arrange-delivery';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

describe('a delivery that is accepted', () => {
  it('is sent to the endpoint, signed, with the bytes of the event', async () => {
    const { deliver, requests, endpoint, event } = await scene.arrange({ results: [responded(204)] });
    await deliver();
    expect(requests).toMatchObject([
      {
        url: endpoint.url,
        body: event.body,
        headers: { 'webhook-id': event.id, 'x-service-attempt': '1', 'user-agent': 'hooks/1.2' },
      },
    ]);
    const { headers = {}, body = '' } = requests[0] ?? {};
    const { secret } = newestSecret(endpoint);
    expect(await verify({ secret, headers, body, now: NOW / 1_000 })).toMatchObject({ id: event.id });
  });

  it('is done, and recorded with its attempt', async () => {
    const { deliver, readRecord } = await scene.arrange({ results: [responded(200, { body: 'thanks' })] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      nextAttemptAt: undefined,
      attempts: [
        {
          number: 1,
          startedAt: NOW,
          durationMs: SEND_MS,
          outcome: 'delivered',
          responseStatus: 200,
          responseBody: 'thanks',
        },
      ],
    });
  });

  it('is announced, with the time since the event was accepted', async () => {
    const { deliver, signals, run, event } = await scene.arrange({
      requestId: 'req_1',
      results: [responded(204)],
    });
    await deliver();
    const ids = { deliveryId: deliveryIdOf(run), eventId: run.eventId, endpointId: run.endpointId };
    expect(signals.named('delivery.attempted')).toEqual([
      {
        name: 'delivery.attempted',
        ...ids,
        accountId: run.accountId,
        type: event.type,
        attempt: 1,
        outcome: 'delivered',
        responseStatus: 204,
        durationMs: SEND_MS,
        firstLagMs: 1_000,
        requestId: 'req_1',
      },
    ]);
    expect(signals.named('delivery.ended')).toEqual([
      {
        name: 'delivery.ended',
        ...ids,
        accountId: run.accountId,
        status: 'delivered',
        lagMs: 1_000 + SEND_MS,
        requestId: 'req_1',
      },
    ]);
  });

  it.each<[string, Arrangement, number | undefined]>([
    ['was held', { job: { hasWaited: true } }, undefined],
    ['was taken over from a worker that died', { job: { hasWaited: true, wasTakenOver: true } }, 1_000],
    [
      'was tried before',
      { log: [{ kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW, isAborted: false }] },
      undefined,
    ],
  ])("tells its lag as the service's doing or not when it %s", async (_what, arrangement, firstLagMs) => {
    const { deliver, signals } = await scene.arrange({ ...arrangement, results: [responded(204)] });
    await deliver();
    expect(signals.named('delivery.attempted').map((signal) => signal.firstLagMs)).toEqual([firstLagMs]);
  });
});

describe('an attempt that fails', () => {
  it.each<[string, SendResult, object]>([
    [
      'a 500',
      responded(500, { body: 'oh' }),
      { outcome: 'http_5xx', responseStatus: 500, responseBody: 'oh' },
    ],
    ['a 404', responded(404), { outcome: 'http_4xx', responseStatus: 404 }],
    ['a redirect', responded(302), { outcome: 'http_3xx', responseStatus: 302 }],
    ['no connection', refused, { outcome: 'connect_refused', error: 'connect ECONNREFUSED' }],
  ])('by %s is recorded, and the delivery waits for the next one', async (_what, result, attempt) => {
    const { deliver, readRecord } = await scene.arrange({ results: [result] });
    await deliver();
    expect(await readRecord()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + SEND_MS + 5_000,
      attempts: [{ number: 1, startedAt: NOW, durationMs: SEND_MS, ...attempt }],
    });
  });

  it('is announced with the delay, and without an end', async () => {
    const { deliver, signals } = await scene.arrange({ results: [refused] });
    await deliver();
    expect(signals.named('delivery.attempted')).toMatchObject([
      { attempt: 1, outcome: 'connect_refused', nextDelayMs: 5_000 },
    ]);
    expect(signals.named('delivery.ended')).toEqual([]);
  });
});

describe('further attempts', () => {
  it('count on, wait longer, and keep what happened before', async () => {
    const { deliver, requests, readRecord, event, moveClock } = await scene.arrange({
      results: [responded(500), refused, responded(204)],
    });
    expect(await deliver()).toMatchObject({ delayMs: 5_000 });
    moveClock(5_000);
    expect(await deliver()).toMatchObject({ delayMs: 300_000 });
    moveClock(300_000);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests.map(({ headers }) => [headers['x-service-attempt'], headers['webhook-id']])).toEqual([
      ['1', event.id],
      ['2', event.id],
      ['3', event.id],
    ]);
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'http_5xx' }, { outcome: 'connect_refused' }, { outcome: 'delivered' }],
    });
  });

  it('go to where the endpoint is by then, signed with the secret that it has by then', async () => {
    const { deliver, requests, endpoint, moveClock } = await scene.arrange({
      results: [responded(500), responded(204)],
    });
    await deliver();
    moveClock(SCHEDULE[0]);
    const moved = {
      ...buildEndpoint(),
      id: endpoint.id,
      accountId: endpoint.accountId,
      url: 'https://new.example.com/',
    };
    await scene.endpointStore.update(endpoint.accountId, endpoint.id, () => moved);
    await deliver();
    const { url, headers = {}, body = '' } = requests[1] ?? {};
    expect(url).toBe(moved.url);
    const { secret } = newestSecret(moved);
    expect(await verify({ secret, headers, body, now: NOW / 1_000 })).toHaveProperty('type');
  });
});

describe('a job that was taken over from another worker', () => {
  it('sends nothing that the other one has recorded in the very moment before', async () => {
    const { deliver, requests, readRecord, freePermits } = await scene.arrange({
      job: { wasTakenOver: true },
      whileAdmitting: async (run) =>
        await scene.deliveryStore.append(run, {
          kind: 'attempted',
          attempt: buildAcceptedAttempt(),
          nextAttemptAt: undefined,
        }),
    });
    const before = freePermits();
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(freePermits()).toBe(before);
  });

  it('goes on when only its answers were erased in that moment', async () => {
    const { deliver, requests, readRecord } = await scene.arrange({
      job: { wasTakenOver: true },
      results: [responded(204)],
      whileAdmitting: async (run) => await scene.deliveryStore.eraseAnswersOf(run, NOW),
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('is sent when nothing has changed', async () => {
    const { deliver, requests } = await scene.arrange({
      job: { wasTakenOver: true },
      results: [responded(204)],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
  });
});

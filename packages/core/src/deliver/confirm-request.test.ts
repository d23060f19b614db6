import type { DeliveryRun } from '../domain/delivery';
import type { Endpoint } from '../domain/endpoint';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { CACHED_FOR_MS } from '../events/redis-event-store';
import { type Arrangement, DeliveryScene, NOW, responded } from '../testing/arrange-delivery';
import { buildEndpoint } from '../testing/build-endpoint';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await scene.clear();
});
afterAll(() => scene.close());

const TOKEN_URL = 'https://auth.example.com/token';
const granted = responded(200, {
  body: JSON.stringify({ access_token: 'abc', token_type: 'Bearer', expires_in: 3_600 }),
});

type Change = (run: DeliveryRun) => Promise<unknown>;

const changeEndpoint =
  (change: Partial<Endpoint>): Change =>
  ({ accountId, endpointId }) =>
    scene.endpointStore.update(accountId, endpointId, (endpoint) => ({ ...endpoint, ...change }));
const erase: Change = ({ accountId, eventId }) => scene.eventStore.erasePayload(accountId, eventId, NOW);

const CHANGES: readonly (readonly [string, Change])[] = [
  ['its payload was erased', erase],
  [
    'its webhook was deleted',
    ({ accountId, endpointId }) => scene.endpointStore.remove(accountId, endpointId),
  ],
  ['its webhook was disabled', changeEndpoint({ status: 'disabled', disabledReason: 'client' })],
  [
    'its webhook has another secret',
    changeEndpoint({ secrets: [{ secret: `whsec_${'b'.repeat(32)}`, createdAt: NOW }] }),
  ],
  ['its webhook has another URL', changeEndpoint({ url: 'https://elsewhere.example.com/' })],
  ['its account was deleted', ({ accountId }) => scene.endpointStore.removeAll(accountId)],
  [
    'another worker has recorded an attempt',
    (run) => scene.deliveryStore.append(run, { kind: 'cancelled', reason: 'endpoint_deleted' }),
  ],
];

/** A delivery whose first request is one for an access token; the change is confirmed while that is under way. */
async function arrangeWaiting(change: Change, more: Arrangement = {}) {
  const auth = {
    type: 'oauth2',
    changedAt: 1,
    tokenUrl: TOKEN_URL,
    clientId: 'c',
    clientSecret: 's',
  } as const;
  return await scene.arrange({
    endpoint: buildEndpoint({ auth }),
    results: [granted, responded(204)],
    whileSending: change,
    ...more,
  });
}

describe('a request that waited for an access token', () => {
  it.each(CHANGES)('is not sent if meanwhile %s', async (_what, change) => {
    const { deliver, requests, freePermits, readRecord } = await arrangeWaiting(change);
    const before = freePermits();
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 0 });
    expect(requests.map(({ url }) => url)).toEqual([TOKEN_URL]);
    expect((await readRecord())?.attempts ?? []).toEqual([]);
    expect(freePermits()).toBe(before);
  });

  it('is not sent if another worker has its job, whatever the clock says', async () => {
    const { deliver, requests } = await arrangeWaiting(async () => {}, {
      job: { keepJob: async () => false },
    });
    expect(await deliver()).toEqual({ kind: 'interrupted' });
    expect(requests.map(({ url }) => url)).toEqual([TOKEN_URL]);
  });

  it('is sent if its job is still ours, though the clock says that it may not be', async () => {
    const { deliver, requests } = await arrangeWaiting(async () => {}, {
      job: { keepJob: async () => true, ownedUntil: NOW },
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(2);
  });

  it('is read again by the next run', async () => {
    const { deliver, requests } = await arrangeWaiting(
      changeEndpoint({ url: 'https://elsewhere.example.com/' }),
      { results: [granted, responded(204)] },
    );
    await deliver();
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests.map(({ url }) => url)).toEqual([TOKEN_URL, 'https://elsewhere.example.com/']);
  });
});

it('does not send what was made by code while its payload was erased', async () => {
  const endpoint = buildEndpoint({ transformation: { version: 1, isEnabled: true } });
  const code = 'export default () => ({ body: 1 })';
  await new TransformationStore(scene.redis.client).save(endpoint.id, { code, savedAt: 1, savedBy: 'key_1' });
  const { deliver, requests, run } = await scene.arrange({ endpoint, results: [responded(204)] });
  const { deliveryStore } = scene;
  const append = deliveryStore.appendTransformed.bind(deliveryStore);
  jest.spyOn(deliveryStore, 'appendTransformed').mockImplementation(async (...args) => {
    const length = await append(...args);
    await erase(run);
    return length;
  });
  expect(await deliver()).toEqual({ kind: 'later', delayMs: 0 });
  expect(requests).toEqual([]);
});

it('does not send what was read too long ago and has changed since', async () => {
  const now = performance.now.bind(performance);
  const { deliver, requests } = await scene.arrange({
    results: [responded(204)],
    async whileAdmitting(run) {
      await erase(run);
      jest.spyOn(performance, 'now').mockImplementation(() => now() + CACHED_FOR_MS);
    },
  });
  expect(await deliver()).toEqual({ kind: 'later', delayMs: 0 });
  expect(requests).toEqual([]);
});

it('asks Redis nothing for a request that has not waited', async () => {
  const keepJob = jest.fn(async () => true);
  const { deliver } = await scene.arrange({ results: [responded(204)], job: { keepJob } });
  const now = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  expect(await deliver()).toEqual({ kind: 'done' });
  expect(keepJob).not.toHaveBeenCalled();
});

import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import {
  API_KEY_BYTES,
  DELIVERY_BYTES,
  EVENT_BYTES,
  lapseOf,
  lapseOfSession,
  WEBHOOK_BYTES,
} from '../domain/usage';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { EventStore } from '../events/redis-event-store';
import { buildApiKey } from '../testing/build-api-key';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildPortalSession } from '../testing/build-portal-session';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { ApiKeyStore } from './redis-api-key-store';
import { PortalSessionStore } from './redis-portal-session-store';
import { type Standing, UsageStore } from './redis-usage-store';

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function build() {
  const accountId = uniqueAccountId();
  const standings: Standing[] = [];
  const usageStore = new UsageStore(redis.client);
  const eventStore = new EventStore(redis.client, { ageMs: DAY, count: 100 });
  const endpointStore = new EndpointStore(redis.client, testSealer, (_id, standing) =>
    standings.push(standing),
  );
  return {
    accountId,
    usageStore,
    eventStore,
    endpointStore,
    look: (now = NOW) => usageStore.look(accountId, now),
    /** As publishing finds it. */
    standing: async () => {
      await endpointStore.version(accountId);
      return standings.at(-1);
    },
  };
}

it('counts an event with its body and its deliveries when it comes into the list of its account, once', async () => {
  const { accountId, eventStore, look, standing } = build();
  const event = buildEvent({ accountId, acceptedAt: NOW, body: 'é'.repeat(500) });
  await eventStore.enlistAll([{ event, deliveries: 3 }])(redis.client);
  await eventStore.enlistAll([{ event, deliveries: 3 }])(redis.client);
  const bytes = {
    events: EVENT_BYTES + 1_000,
    deliveries: 3 * DELIVERY_BYTES,
    answers: 0,
    replays: 0,
    sessions: 0,
  };
  const usedBytes = bytes.events + bytes.deliveries;
  expect(await look()).toMatchObject({ usedBytes, bytes, events: 1 });
  expect(await standing()).toEqual({ usedBytes, ownQuotaBytes: undefined });
});

it('takes off what has lapsed, soon after Redis has let go of it and never before', async () => {
  const { accountId, eventStore, look, standing } = build();
  await eventStore.enlistAll([
    { event: buildEvent({ accountId, acceptedAt: NOW, body: 'x' }), deliveries: 0 },
  ])(redis.client);
  await eventStore.enlistAll([
    { event: buildEvent({ accountId, acceptedAt: NOW + DAY / 2, body: 'x' }), deliveries: 0 },
  ])(redis.client);
  expect((await look(NOW + DAY - 1)).usedBytes).toBe(2 * (EVENT_BYTES + 1));
  const lapsedAt = lapseOf(NOW, DAY);
  expect(lapsedAt - (NOW + DAY)).toBeLessThanOrEqual(DAY / 32);
  expect((await look(lapsedAt)).usedBytes).toBe(EVENT_BYTES + 1);
  expect(await standing()).toMatchObject({ usedBytes: EVENT_BYTES + 1 });
});

it('counts webhooks and API keys by how many there are', async () => {
  const { accountId, endpointStore, look } = build();
  await endpointStore.create(buildEndpoint({ accountId }));
  await new ApiKeyStore(redis.client).save(buildApiKey({ accountId }).record);
  await new ApiKeyStore(redis.client).save(buildApiKey({ accountId }).record);
  expect(await look()).toMatchObject({
    usedBytes: WEBHOOK_BYTES + 2 * API_KEY_BYTES,
    webhooks: 1,
    apiKeys: 2,
  });
});

it('counts the versions of code, those that were saved before any was counted as well, until their webhook is gone', async () => {
  const { accountId, usageStore, endpointStore, look } = build();
  const versions = new TransformationStore(redis.client);
  const [old, changed] = [buildEndpoint({ accountId }), buildEndpoint({ accountId })];
  const save = (id: EndpointId) => versions.save(id, { code: 'x'.repeat(10_000), savedAt: 1, savedBy: 'k' });
  for (const endpoint of [old, changed]) {
    await endpointStore.create(endpoint);
    await save(endpoint.id);
  }
  const before = (await look()).usedBytes;
  expect(before - 2 * WEBHOOK_BYTES).toBeGreaterThan(20_000);
  await save(changed.id);
  await usageStore.countCode(accountId, changed.id);
  expect((await look()).usedBytes - before).toBeGreaterThan(10_000);
  await endpointStore.remove(accountId, changed.id);
  const { usedBytes } = await look();
  expect(usedBytes - WEBHOOK_BYTES).toBeGreaterThan(10_000);
  expect(usedBytes - WEBHOOK_BYTES).toBeLessThan(11_000);
});

it('takes what is gone before its time from what was counted for that time, and no more than that', async () => {
  const { accountId, usageStore, look, standing } = build();
  const lapsesAt = NOW + DAY;
  await usageStore.count(accountId, [{ kind: 'deliveries', bytes: 500, lapsesAt }], NOW);
  await usageStore.count(accountId, [{ kind: 'events', bytes: 70, lapsesAt }], NOW);
  await usageStore.count(
    accountId,
    [
      { kind: 'deliveries', bytes: -2_000, lapsesAt },
      { kind: 'events', bytes: -50, lapsesAt },
      { kind: 'answers', bytes: -1, lapsesAt },
    ],
    NOW,
  );
  expect((await look()).bytes).toEqual({ events: 20, deliveries: 0, answers: 0, replays: 0, sessions: 0 });
  expect(await standing()).toMatchObject({ usedBytes: 20 });
});

describe('portal sessions', () => {
  // Redis lets go of them by its own clock.
  const now = Date.now();
  const build10 = (accountId: AccountId) =>
    Array.from({ length: 10 }, (_, i) => {
      const expiresAt = now + (i + 1) * 7 * 60_000;
      return buildPortalSession({ accountId, createdAt: now, expiresAt, bytes: 1_000 }).record;
    });

  it('count as long as they last, once, and are given back when they are revoked', async () => {
    const { accountId, look, standing } = build();
    const store = new PortalSessionStore(redis.client);
    const [first, ...others] = build10(accountId);
    if (!first) throw new Error('There are ten.');
    for (const session of [first, ...others, first])
      expect(await store.save(session, {}, 10, now)).toBe(true);
    expect(await look(now)).toMatchObject({ usedBytes: 10_000, bytes: { sessions: 10_000 } });
    expect(await store.remove(first)).toBe(true);
    expect(await store.remove(first)).toBe(false);
    expect(await standing()).toMatchObject({ usedBytes: 9_000 });
    expect(await look(now)).toMatchObject({ usedBytes: 9_000 });
    for (const { expiresAt } of others.slice(-2)) {
      const lapsesAt = lapseOfSession(expiresAt);
      expect(lapsesAt - expiresAt).toBeLessThanOrEqual(5 * 60_000);
      const live = others.filter((session) => lapseOfSession(session.expiresAt) > lapsesAt);
      expect((await look(lapsesAt)).usedBytes).toBe(live.length * 1_000);
    }
  });

  it('leave no counter behind when the last one is revoked', async () => {
    const { accountId } = build();
    const store = new PortalSessionStore(redis.client);
    const sessions = build10(accountId);
    for (const session of sessions) await store.save(session, {}, 10, now);
    for (const session of sessions) await store.remove(session);
    const { usage, usedBytes, portalSessionIds } = keys;
    expect(
      await redis.client.exists(usage(accountId), usedBytes(accountId), portalSessionIds(accountId)),
    ).toBe(0);
  });
});

it('leaves nothing behind for longer than what it counts is kept', async () => {
  const { accountId, eventStore, look } = build();
  await eventStore.enlistAll([{ event: buildEvent({ accountId, acceptedAt: NOW }), deliveries: 1 }])(
    redis.client,
  );
  await look();
  for (const key of [keys.usage(accountId), keys.usedBytes(accountId)]) {
    const left = await redis.client.pttl(key);
    expect(left).toBeGreaterThanOrEqual(DAY - 10_000);
    expect(left).toBeLessThanOrEqual(DAY + DAY / 32);
  }
});

it('adds no command to the ones that publishing an event needs anyway', async () => {
  const { accountId } = build();
  const commands: PropertyKey[] = [];
  const noted = new Proxy(redis.client, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        commands.push(name);
        return Reflect.apply(member, target, args);
      };
    },
  });
  await new EndpointStore(noted, testSealer).version(accountId);
  await new EventStore(noted, { ageMs: DAY, count: 100 }).enlistAll([
    { event: buildEvent({ accountId }), deliveries: 1 },
  ])(noted);
  expect(commands).toEqual(['mget', 'evalsha']);
});

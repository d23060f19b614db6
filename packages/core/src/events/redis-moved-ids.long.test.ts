import type { AccountId } from '../domain/account';
import type { AcceptedEvent, EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { atomicAsOne } from '../platform/redis-atomic';
import { buildEvent } from '../testing/build-event';
import { keepMovedId } from '../testing/keep-moved-id';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { digestOf, isOfDigest, type MovedId, MovedIds } from './redis-moved-ids';

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;

let redis: TestRedis;
let movedIds: MovedIds;
beforeAll(async () => {
  redis = await openTestRedis();
  movedIds = new MovedIds(redis.client, DAY);
});
afterAll(() => redis.close());

const body = '{"type":"a.b","data":1}';
const buildMoved = (change: Partial<MovedId> = {}): MovedId => ({
  kind: 'claimed',
  acceptedAt: NOW,
  digest: digestOf(body),
  ...change,
});

const keep = (accountId: AccountId, eventId: EventId, { acceptedAt, ...movedId }: MovedId) =>
  keepMovedId(redis.client, movedIds, { accountId, eventId, acceptedAt, movedId }, NOW);

it('knows nothing of any other event', async () => {
  const accountId = uniqueAccountId();
  await keep(accountId, uniqueEventId(), buildMoved());
  expect(await movedIds.look(accountId, uniqueEventId(), NOW)(redis.client)).toEqual({
    isListed: false,
    moved: undefined,
  });
});

it.each(['claimed', 'queued'] as const)('tells what a %s id stands for', async (kind) => {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  await keep(accountId, id, buildMoved({ kind }));
  const { moved } = await movedIds.look(accountId, id, NOW + 1)(redis.client);
  if (!moved) throw new Error('It is not known.');
  expect(moved).toMatchObject({ kind, acceptedAt: NOW });
  expect(isOfDigest(moved, digestOf(body))).toBe(true);
  expect(isOfDigest(moved, digestOf(`${body} `))).toBe(false);
  expect(isOfDigest(moved, digestOf(body, ['wh_1']))).toBe(false);
});

it('tells whether an event is in its account’s list', async () => {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  await redis.client.zadd(keys.events(accountId), NOW, id);
  expect(await movedIds.look(accountId, id, NOW)(redis.client)).toEqual({ isListed: true, moved: undefined });
});

it('keeps the id of an erased payload taken, by no content', async () => {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  await keep(accountId, id, buildMoved());
  await movedIds.eraseDigest(accountId, id);
  await movedIds.eraseDigest(accountId, uniqueEventId());
  const { moved } = await movedIds.look(accountId, id, NOW)(redis.client);
  expect(moved).toEqual({ kind: 'claimed', acceptedAt: NOW, digest: undefined });
  expect(moved && isOfDigest(moved, digestOf(body))).toBe(false);
});

it('forgets an id after the retention', async () => {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  await keep(accountId, id, buildMoved());
  expect((await movedIds.look(accountId, id, NOW + DAY)(redis.client)).moved).toBeDefined();
  expect((await movedIds.look(accountId, id, NOW + DAY + 1)(redis.client)).moved).toBeUndefined();
});

it('forgets none because one process has a clock that is ahead of Redis', async () => {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  const [now, ahead] = [Date.now(), Date.now() + 15 * DAY];
  const event = buildEvent({ accountId, id, acceptedAt: now, isClaimed: true });
  // In one part, so that each of the new ones meets it.
  await keep(accountId, id, buildMoved({ acceptedAt: now }));
  const [part = ''] = await partsOf(accountId);
  const other = { accountId, eventId: uniqueEventId(), acceptedAt: ahead, movedId: buildMoved() };
  await keepMovedId(redis.client, movedIds, other, ahead);
  expect(await redis.client.hlen(part)).toBeGreaterThan(0);
  expect(await stores([event], ahead)).toBe(false);
});

/** Whether what comes after the guards runs. */
async function stores(events: readonly AcceptedEvent[], now: number): Promise<boolean> {
  const guards = movedIds.guardsUnsent(events, now);
  const after = movedIds.look(uniqueAccountId(), uniqueEventId(), now);
  const results = await atomicAsOne(redis.client)([...guards, after]);
  return results.length > guards.length;
}

it('stores no event again whose id the API made, while it is listed', async () => {
  const accountId = uniqueAccountId();
  const [listed, other] = [1, 2].map(() => buildEvent({ accountId, acceptedAt: NOW })) as [
    AcceptedEvent,
    AcceptedEvent,
  ];
  await redis.client.zadd(keys.events(accountId), NOW, listed.id);
  expect(await stores([other], NOW)).toBe(true);
  expect(await stores([other, listed], NOW)).toBe(false);
  const wereSent = [listed, other].map((event) => movedIds.wasSent(event, NOW));
  expect(await Promise.all(wereSent)).toEqual([true, false]);
});

const partsOf = (accountId: string) => redis.client.keys(`moved-ids:{${accountId}}:*`);

it('removes those that have lapsed as others come, and all with the account', async () => {
  const accountId = uniqueAccountId();
  const ids = Array.from({ length: 40 }, (_, i) => `id-${i}` as EventId);
  const old = buildMoved({ acceptedAt: NOW - 2 * DAY });
  // In one part, so that each of the new ones meets old ones.
  const part = keys.movedIds(accountId, 0);
  for (const id of ids) await redis.client.hset(part, id, `c${old.acceptedAt} x`);
  let added = 0;
  for (let i = 0; (await redis.client.hlen(part)) >= ids.length && i < 100_000; i += 1) {
    await keep(accountId, `new-${i}` as EventId, buildMoved());
    added = i;
  }
  expect(added).toBeLessThan(99_999);
  const ttls = await Promise.all((await partsOf(accountId)).map((key) => redis.client.pttl(key)));
  expect(Math.max(...ttls)).toBeLessThanOrEqual(DAY);
  await movedIds.removeAll(accountId);
  expect(await partsOf(accountId)).toEqual([]);
});

it('takes less than 120 bytes for each of twenty thousand', async () => {
  const accountId = uniqueAccountId();
  const total = 20_000;
  for (let start = 0; start < total; start += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => keep(accountId, `order-${start + i}` as EventId, buildMoved())),
    );
  }
  const sizes = await Promise.all(
    (await partsOf(accountId)).map((key) => redis.client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')),
  );
  const bytes = sizes.reduce<number>((sum, size) => sum + Number(size), 0) / total;
  process.stdout.write(`an id that has moved takes ${bytes.toFixed(0)} bytes\n`);
  expect(bytes).toBeLessThan(120);
}, 240_000);

import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type EndedEntry, EndedList } from './redis-ended-list';

const NOW = 1_700_000_000_000;
const UNTIL = NOW + 30_000;

let redis: TestRedis;
let list: EndedList;
beforeAll(async () => {
  redis = await openTestRedis();
  list = new EndedList(redis.client);
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

const buildEntry = (): EndedEntry => ({
  accountId: 'acme_1' as AccountId,
  eventId: uniqueEventId(),
  endpointId: uniqueEndpointId(),
});

const claimAll = (until = UNTIL) => list.claim(Number.POSITIVE_INFINITY, 100, until)(redis.client);

it('gives what had ended first, up to a time and a number', async () => {
  const [first, second, third, late] = [buildEntry(), buildEntry(), buildEntry(), buildEntry()];
  await list.add(second, NOW + 2);
  await list.add(first, NOW + 1);
  await list.addAll([third], NOW + 3)(redis.client);
  await list.add(late, NOW + 9);
  expect((await list.claim(NOW + 5, 2, UNTIL)(redis.client)).entries).toEqual([
    { ...first, endedAt: NOW + 1 },
    { ...second, endedAt: NOW + 2 },
  ]);
  expect((await list.claim(NOW + 5, 2, UNTIL)(redis.client)).entries).toEqual([
    { ...third, endedAt: NOW + 3 },
  ]);
});

it('gives an event without deliveries without an endpoint', async () => {
  const { accountId, eventId } = buildEntry();
  await list.addAll([{ accountId, eventId }], NOW)(redis.client);
  expect((await claimAll()).entries).toEqual([{ accountId, eventId, endedAt: NOW }]);
});

it('has an entry once, by when it was over last', async () => {
  const entry = buildEntry();
  await list.add(entry, NOW);
  await list.add(entry, NOW + 7);
  expect(await list.count()).toBe(1);
  expect(await list.oldest()).toBe(NOW + 7);
});

it('gives what a process has claimed that died to another one, after a while', async () => {
  const entry = buildEntry();
  await list.add(entry, NOW);
  await claimAll();
  expect((await list.claim(UNTIL - 1, 10, UNTIL + 1)(redis.client)).entries).toEqual([]);
  expect((await list.claim(UNTIL, 10, UNTIL + 1)(redis.client)).entries).toMatchObject([entry]);
});

it('ends a claim: what is done is gone, the rest comes again when it is told to', async () => {
  const [done, postponed] = [buildEntry(), buildEntry()];
  await list.addAll([done, postponed], NOW)(redis.client);
  const claim = await claimAll();
  await list.endClaim(claim, [
    { entry: done, endedAt: undefined },
    { entry: postponed, endedAt: NOW + 50 },
  ]);
  expect((await claimAll()).entries).toEqual([{ ...postponed, endedAt: NOW + 50 }]);
});

it('keeps what had ended once more while it was claimed', async () => {
  const [first, second] = [buildEntry(), buildEntry()];
  await list.addAll([first, second], NOW)(redis.client);
  const claim = await claimAll();
  await list.addAll([first, second], NOW + 60)(redis.client);
  await list.endClaim(claim, [
    { entry: first, endedAt: undefined },
    { entry: second, endedAt: NOW + 50 },
  ]);
  expect((await claimAll()).entries.map(({ endedAt }) => endedAt)).toEqual([NOW + 60, NOW + 60]);
});

it('lets nobody end a claim on what another one has claimed since', async () => {
  const entry = buildEntry();
  await list.add(entry, NOW);
  const claim = await claimAll();
  await list.claim(UNTIL, 10, UNTIL + 1)(redis.client);
  await list.endClaim(claim, [{ entry, endedAt: undefined }]);
  expect(await list.count()).toBe(1);
});

it('is empty without anything', async () => {
  await list.endClaim({ until: UNTIL }, []);
  expect((await claimAll()).entries).toEqual([]);
  expect([await list.count(), await list.oldest()]).toEqual([0, undefined]);
  expect(await redis.client.exists(keys.ended)).toBe(0);
});

describe('what was refused', () => {
  async function refuse(count: number, since: number): Promise<readonly EndedEntry[]> {
    const entries = Array.from({ length: count }, buildEntry);
    await list.addAll(entries, NOW)(redis.client);
    const claim = await list.claim(NOW, count, UNTIL)(redis.client);
    for (const entry of claim.entries)
      await list.noteRefused(claim, entry, { since, reason: '23514: no  luck' });
    return entries;
  }

  it('is listed, with since when and why', async () => {
    const entries = await refuse(3, NOW + 1);
    const { entries: listed, nextCursor } = await list.listRefused();
    const because = { since: NOW + 1, reason: '23514: no  luck' };
    expect(listed).toHaveLength(3);
    expect(listed).toEqual(expect.arrayContaining(entries.map((entry) => ({ ...entry, ...because }))));
    expect(nextCursor).toBeUndefined();
  });

  it('is put back, all of it, and counted', async () => {
    const entries = await refuse(1_300, NOW);
    const told: number[] = [];
    expect(await list.putRefusedBack(NOW + 5, (count) => told.push(count))).toBe(1_300);
    expect(told.length).toBeGreaterThan(1);
    expect([await list.countRefused(), await list.count()]).toEqual([0, entries.length]);
    expect(await list.oldest()).toBe(NOW + 5);
    expect(await list.putRefusedBack(NOW + 5)).toBe(0);
  });

  it('is not refused any more once it has moved, as what a sweep has found again', async () => {
    const [moved, other] = await refuse(2, NOW);
    if (!moved || !other) throw new Error('There are two.');
    await list.addMissing([moved], NOW);
    const claim = await list.claim(NOW, 1, UNTIL)(redis.client);
    await list.endClaim(
      claim,
      claim.entries.map((entry) => ({ entry, endedAt: undefined })),
    );
    expect((await list.listRefused()).entries).toMatchObject([other]);
  });

  it('stays refused if it was refused after the retry began', async () => {
    await refuse(2, NOW);
    const [late] = await refuse(1, NOW + 6);
    expect(await list.putRefusedBack(NOW + 5)).toBe(2);
    expect((await list.listRefused()).entries).toMatchObject([{ ...late, since: NOW + 6 }]);
  });
});

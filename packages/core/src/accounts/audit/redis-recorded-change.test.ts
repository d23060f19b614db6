import { Redis } from 'ioredis';
import type { AuditEntry } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { createNewId } from '../../platform/ids';
import { buildAct } from '../../testing/build-act';
import { type RedisServer, startRedisServer } from '../../testing/redis-server';
import { setIfFree } from '../../testing/set-if-free.script';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId } from '../../testing/unique-ids';
import { AuditLog } from './redis-audit-log';
import { makeChange } from './redis-recorded-change';

let redis: TestRedis;
let log: AuditLog;
beforeAll(async () => {
  redis = await openTestRedis();
  log = new AuditLog(redis.client);
});
afterAll(() => redis.close());

async function logOf(accountId: ReturnType<typeof uniqueAccountId>): Promise<readonly AuditEntry[]> {
  return (await log.listDone(accountId, {}, 1_000)).entries;
}

describe('a recorded change', () => {
  it('is made and on record, with its changed fields', async () => {
    const accountId = uniqueAccountId();
    const changes = [{ field: 'description', from: 'old', to: 'new' }];
    const act = buildAct();
    const recorded = { act, accountId, targetId: 'wh_1', changes };
    expect(
      await makeChange(redis.client, setIfFree({ thing: `thing:{${accountId}}`, value: '1' }), recorded),
    ).toBe('set');
    const { bounds: _bounds, ...facts } = act;
    expect(await logOf(accountId)).toEqual([{ ...facts, accountId, targetId: 'wh_1', changes }]);
    expect((await log.listAllDone({}, 1)).entries).toEqual(await logOf(accountId));
  });

  it('is on no record when it was not made', async () => {
    const accountId = uniqueAccountId();
    const key = `thing:{${accountId}}`;
    await redis.client.set(key, 'mine');
    expect(
      await makeChange(redis.client, setIfFree({ thing: key, value: '1' }), { act: buildAct(), accountId }),
    ).toBe('taken');
    expect(await logOf(accountId)).toEqual([]);
    expect(await redis.client.get(key)).toBe('mine');
  });

  it('is not made again when its reply was lost and it is sent again', async () => {
    const accountId = uniqueAccountId();
    const key = `thing:{${accountId}}`;
    const recorded = { act: buildAct(), accountId };
    await makeChange(redis.client, setIfFree({ thing: key, value: '1' }), recorded);
    await redis.client.del(key);
    expect(await makeChange(redis.client, setIfFree({ thing: key, value: '1' }), recorded)).toBe('set');
    expect(await redis.client.exists(key)).toBe(0);
    expect(await logOf(accountId)).toHaveLength(1);
  });

  it('tells that it was recorded, and only then', async () => {
    const accountId = uniqueAccountId();
    const told: string[] = [];
    const act = () => buildAct({ onRecorded: ({ id }) => told.push(id) });
    const [first, second] = [act(), act()];
    await makeChange(redis.client, setIfFree({ thing: `thing:{${accountId}}`, value: '1' }), {
      act: first,
      accountId,
    });
    await makeChange(redis.client, setIfFree({ thing: `thing:{${accountId}}`, value: '1' }), {
      act: second,
      accountId,
    });
    expect(told).toEqual([first.id]);
  });

  it('needs no record', async () => {
    const accountId = uniqueAccountId();
    expect(
      await makeChange(redis.client, setIfFree({ thing: `thing:{${accountId}}`, value: '1' }), undefined),
    ).toBe('set');
    expect(await redis.client.exists(keys.auditLog(accountId))).toBe(0);
  });
});

describe('a log', () => {
  const DAY_MS = 86_400_000;

  it('keeps the newest, by its count', async () => {
    const accountId = uniqueAccountId();
    const acts = Array.from({ length: 5 }, () => buildAct({ bounds: { count: 3, ageMs: DAY_MS } }));
    for (const act of acts) await log.record({ act, accountId });
    expect((await logOf(accountId)).map(({ id }) => id)).toEqual(
      acts
        .slice(2)
        .map(({ id }) => id)
        .toReversed(),
    );
  });

  it('lets go of what is older than it is kept, and of itself', async () => {
    const accountId = uniqueAccountId();
    const now = Date.now();
    const then = now - 2 * DAY_MS;
    const bounds = { count: 100, ageMs: DAY_MS };
    await log.record({ act: buildAct({ id: createNewId(() => then)('aud'), at: then, bounds }), accountId });
    expect(await logOf(accountId)).toHaveLength(1);
    const act = buildAct({ bounds });
    await log.record({ act, accountId });
    expect((await logOf(accountId)).map(({ id }) => id)).toEqual([act.id]);
    expect(await redis.client.pttl(keys.auditLog(accountId))).toBeGreaterThan(DAY_MS - 60_000);
  });

  it('is read by parts, within a time', async () => {
    const accountId = uniqueAccountId();
    const start = Date.now() - DAY_MS;
    const acts = Array.from({ length: 5 }, (_, i) => {
      const at = start + i * 1_000;
      return buildAct({ id: createNewId(() => at)('aud'), at, bounds: { count: 100, ageMs: 10 * DAY_MS } });
    });
    for (const act of acts) await log.record({ act, accountId });
    const window = { since: start + 1_000, until: start + 4_000 };
    const first = await log.listDone(accountId, window, 2);
    const rest = await log.listDone(accountId, { ...window, before: first.nextBefore }, 2);
    expect([...first.entries, ...rest.entries].map(({ at }) => (at - start) / 1_000)).toEqual([3, 2, 1]);
    expect(rest.nextBefore).toBeUndefined();
  });
});

describe('a full Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.close());

  it('takes neither the change nor its entry', async () => {
    const accountId = uniqueAccountId();
    const key = `thing:{${accountId}}`;
    const client = new Redis(server.url);
    try {
      await server.fillUp();
      const change = setIfFree({ thing: key, value: '1' });
      const made = makeChange(client, change, { act: buildAct(), accountId });
      await expect(made).rejects.toThrow('OOM');
      await server.makeRoom();
      expect(await client.exists(key, keys.auditLog(accountId))).toBe(0);
    } finally {
      client.disconnect();
    }
  });
});

import { keys } from '../../domain/keys';
import { MovedStore } from '../../events/redis-moved';
import { atomicAsOne, atomicOneByOne } from '../../platform/redis-atomic';
import { startRedisServer } from '../../testing/redis-server';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { testRetention } from '../../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { forAllRows, forEachRow } from './for-each-row';

let redis: TestRedis;
let movedStore: MovedStore;
beforeAll(async () => {
  redis = await openTestRedis();
  movedStore = new MovedStore(redis.client, testRetention);
});
afterAll(() => redis.close());

const TIME = 1_700_000_000_000;

const buildRow = () => ({ accountId: uniqueAccountId(), eventId: uniqueEventId() });
type Row = ReturnType<typeof buildRow>;

describe.each([
  ['as one', atomicAsOne],
  ['one by one', atomicOneByOne],
])('steps for many rows, %s', (_how, open) => {
  /** Take events without receivers off their accounts' lists, and note when. Gives how many of the steps have run for each. */
  async function leave(rows: readonly Row[]) {
    const atomic = open(redis.client);
    return await forEachRow(rows, async (row) => {
      const movedUntil = { acceptedAt: TIME, attemptAt: TIME };
      const results: readonly unknown[] = await atomic([
        movedStore.lapseEvent({ ...row, endpointId: undefined, status: undefined, isErased: false }),
        movedStore.leave(row),
        movedStore.raiseMovedUntil(row.accountId, movedUntil),
      ]);
      return results.length;
    });
  }

  async function arrange(count: number): Promise<readonly Row[]> {
    const rows = Array.from({ length: count }, buildRow);
    for (const { accountId, eventId } of rows) await redis.client.zadd(keys.events(accountId), TIME, eventId);
    return rows;
  }

  const areListed = (rows: readonly Row[]) =>
    Promise.all(rows.map(({ accountId }) => redis.client.exists(keys.events(accountId))));
  const movedUntilOf = ({ accountId }: Row) => movedStore.movedUntil(accountId);

  it('run in order for each, as far as its guard lets them', async () => {
    const rows = await arrange(3);
    const [first, second, third] = rows as [Row, Row, Row];
    await redis.client.zadd(keys.receivers(second.accountId, second.eventId), 0, uniqueEndpointId());
    expect(await leave(rows)).toEqual([3, 1, 3]);
    expect(await areListed(rows)).toEqual([0, 1, 0]);
    expect(await Promise.all([first, second, third].map(movedUntilOf))).toEqual([TIME, undefined, TIME]);
  });

  it('end with the error of a row whose data is wrong, and go on with the others', async () => {
    const rows = await arrange(3);
    const [first, second, third] = rows as [Row, Row, Row];
    await redis.client.set(keys.events(first.accountId), 'no list');
    await redis.client.del(keys.movedUntil(second.accountId));
    await redis.client.rpush(keys.movedUntil(second.accountId), 'no text');
    const wrongType = expect.objectContaining({ message: expect.stringContaining('WRONGTYPE') });
    expect(await leave(rows)).toEqual([wrongType, wrongType, 3]);
    // The steps before one that fails have taken effect, and none after it.
    expect(await areListed(rows)).toEqual([1, 0, 0]);
    expect(await Promise.all([first, third].map(movedUntilOf))).toEqual([undefined, TIME]);
  });

  it('run for thousands of rows, in their order', async () => {
    const rows = Array.from({ length: 3_000 }, () => ({
      endpointId: uniqueEndpointId(),
      eventId: uniqueEventId(),
    }));
    await redis.client.mset(
      rows.flatMap(({ endpointId, eventId }, i) => [keys.delivery(endpointId, eventId), `log ${i}`]),
    );
    const atomic = open(redis.client);
    const seen = await forAllRows(rows, async (some) => (await atomic([movedStore.seeDeliveries(some)]))[0]);
    expect(seen).toEqual(rows.map((_row, i) => ({ log: `log ${i}`, isListed: true })));
  });

  it('do nothing for no row', async () => {
    expect(await leave([])).toEqual([]);
  });

  it('fail as a whole when Redis takes no writes', async () => {
    const server = await startRedisServer();
    const full = await openTestRedis(server.url);
    try {
      await server.fillUp();
      const atomic = open(full.client);
      const raised = forEachRow([buildRow(), buildRow()], ({ accountId }) =>
        atomic([movedStore.raiseMovedUntil(accountId, { acceptedAt: TIME, attemptAt: TIME })]),
      );
      await expect(raised).rejects.toThrow('OOM');
      await server.makeRoom();
      expect(await full.client.dbsize()).toBe(0);
    } finally {
      await full.close();
      await server.close();
    }
  });
});

// Otherwise each of them would count as refused, until somebody has looked at it.
it('fail as a whole when Redis refuses the command that they share', async () => {
  const server = await startRedisServer();
  const own = await openTestRedis(server.url);
  try {
    await own.client.acl('SETUSER', 'default', '-eval', '-evalsha');
    const atomic = atomicAsOne(own.client);
    const seen = forEachRow([buildRow(), buildRow()], (row) => atomic([movedStore.isErased(row)]));
    await expect(seen).rejects.toThrow('NOPERM');
  } finally {
    await own.close();
    await server.close();
  }
});

import { EventEmitter, once } from 'node:events';
import { keys } from '../../domain/keys';
import { buildAttempt } from '../../testing/build-attempt';
import { recordSignals } from '../../testing/record-signals';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { Archiver, TAKE_OVER_AFTER_MS } from './archiver';
import type { AttemptRow, InsertResult } from './pg-attempt-table';
import { type ArchiveRecord, ArchiveStream } from './redis-archive-stream';

let redis: TestRedis;
beforeEach(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.close());

function buildRecord(responseBody = 'oh'): ArchiveRecord {
  return {
    accountId: uniqueAccountId(),
    eventId: uniqueEventId(),
    endpointId: uniqueEndpointId(),
    type: 'keyword.quick_win',
    acceptedAt: 1_700_000_000_000,
    status: 'pending',
    fact: { kind: 'attempted', attempt: buildAttempt({ responseBody }), nextAttemptAt: 1_700_000_060_000 },
  };
}

/** An archive in memory, which can be away, and does not take rows whose response body says so. */
function buildTable() {
  const rows: AttemptRow[] = [];
  const batches: number[] = [];
  const stored = new EventEmitter();
  const table = {
    rows,
    batches,
    isAway: false,
    takesPoison: false,
    /** It is away once it has stored so many batches. */
    awayAfter: Number.POSITIVE_INFINITY,
    async insert(given: readonly AttemptRow[]): Promise<InsertResult> {
      if (table.isAway || batches.length >= table.awayAfter) throw new Error('no archive');
      if (!table.takesPoison && given.some(({ response_body }) => response_body === 'poison')) {
        return { kind: 'refused', code: '22000', reason: '22000: poison' };
      }
      rows.push(...given);
      batches.push(given.length);
      stored.emit('batch');
      return { kind: 'stored' };
    },
    /** Resolves once there are so many rows. */
    async untilStored(count: number): Promise<void> {
      while (rows.length < count) await once(stored, 'batch');
    },
  };
  return table;
}

function buildArchiver({ table = buildTable(), consumer = 'w1', batchSize = 10, now = () => 0 } = {}) {
  const signals = recordSignals();
  const stream = new ArchiveStream(redis.client);
  const archiver = new Archiver({ stream, table, consumer, batchSize, clock: now, emit: signals.listen });
  return { archiver, table, stream, signals };
}

async function addAll(records: readonly ArchiveRecord[]): Promise<void> {
  const stream = new ArchiveStream(redis.client);
  for (const record of records) await stream.add(record);
}

const idsOf = (rows: readonly AttemptRow[]) => rows.map(({ event_id }) => event_id);
const pending = async () => (await redis.client.xpending(keys.attemptsToArchive, 'archivers'))[0];

it('puts what is in the stream into the archive, in its order, and takes it out of the stream', async () => {
  const { archiver, table, stream, signals } = buildArchiver();
  const records = Array.from({ length: 3 }, () => buildRecord());
  await addAll(records);
  expect(await archiver.runOnce()).toBe(3);
  expect(idsOf(table.rows)).toEqual(records.map(({ eventId }) => eventId));
  expect([await stream.count(), await pending()]).toEqual([0, 0]);
  expect(signals.named('attempts.archived')).toEqual([{ name: 'attempts.archived', count: 3 }]);
});

it('takes no more at once than it may', async () => {
  const { archiver, table } = buildArchiver({ batchSize: 2 });
  await addAll(Array.from({ length: 5 }, () => buildRecord()));
  expect([await archiver.runOnce(), await archiver.runOnce(), await archiver.runOnce()]).toEqual([2, 2, 1]);
  expect(table.batches).toEqual([2, 2, 1]);
});

it('leaves everything in the stream while the archive is away, and goes on with it afterwards', async () => {
  const { archiver, table, stream } = buildArchiver({ batchSize: 2 });
  const records = Array.from({ length: 3 }, () => buildRecord());
  await addAll(records);
  table.isAway = true;
  await expect(archiver.runOnce()).rejects.toThrow('no archive');
  await expect(archiver.runOnce()).rejects.toThrow('no archive');
  expect(await stream.count()).toBe(3);

  table.isAway = false;
  await archiver.runOnce();
  await archiver.runOnce();
  expect(idsOf(table.rows)).toEqual(records.map(({ eventId }) => eventId));
  expect(await stream.count()).toBe(0);
});

it('takes over what a dead one has taken, once that was long enough ago', async () => {
  const table = buildTable();
  const dead = buildArchiver({ table, consumer: 'dead' });
  await addAll([buildRecord()]);
  table.isAway = true;
  await expect(dead.archiver.runOnce()).rejects.toThrow('no archive');
  table.isAway = false;

  const other = buildArchiver({ table, consumer: 'other' });
  expect(await other.archiver.runOnce()).toBe(0);
  const [[id] = ['']] = await redis.client.xrange(keys.attemptsToArchive, '-', '+');
  const longAgo = ['IDLE', TAKE_OVER_AFTER_MS] as const;
  await redis.client.xclaim(keys.attemptsToArchive, 'archivers', 'dead', 0, id, ...longAgo, 'JUSTID');
  const later = buildArchiver({ table, consumer: 'later' });
  expect(await later.archiver.runOnce()).toBe(1);
  expect(table.rows).toHaveLength(1);
  expect([await later.stream.count(), await pending()]).toEqual([0, 0]);
});

it('shares the stream with others: each attempt is taken by one', async () => {
  const table = buildTable();
  const archivers = ['a', 'b', 'c'].map(
    (consumer) => buildArchiver({ table, consumer, batchSize: 7 }).archiver,
  );
  await addAll(Array.from({ length: 21 }, () => buildRecord()));
  const counts = await Promise.all(archivers.map((archiver) => archiver.runOnce()));
  expect(counts).toEqual([7, 7, 7]);
  expect(new Set(idsOf(table.rows)).size).toBe(21);
});

it('puts aside a row that the table does not take, with the reason, and archives all others', async () => {
  const { archiver, table, stream, signals } = buildArchiver();
  const bodies = ['a', 'b', 'poison', 'c', 'd', 'poison', 'e'];
  const records = bodies.map(buildRecord);
  await addAll(records);
  expect(await archiver.runOnce()).toBe(7);
  expect(table.rows.map(({ response_body }) => response_body)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect([await stream.count(), await pending()]).toEqual([0, 0]);
  const aside = await redis.client.xrange(keys.attemptsNotArchived, '-', '+');
  expect(aside).toHaveLength(2);
  expect(aside[0]?.[1]).toEqual(expect.arrayContaining([records[2]?.eventId, 'reason', '22000: poison']));
  expect(signals.named('archive.refused')).toMatchObject([
    { reason: '22000: poison' },
    { reason: '22000: poison' },
  ]);
});

it('puts aside and counts everything once, though the archive went away in the middle of a batch', async () => {
  const { archiver, table, stream, signals } = buildArchiver();
  await addAll(['poison', 'a', 'b'].map((body) => buildRecord(body)));
  table.awayAfter = 1;
  await expect(archiver.runOnce()).rejects.toThrow('no archive');
  table.awayAfter = Number.POSITIVE_INFINITY;
  await archiver.runOnce();
  expect(await stream.count()).toBe(0);
  expect(await redis.client.xlen(keys.attemptsNotArchived)).toBe(1);
  expect(signals.named('archive.refused')).toHaveLength(1);
  expect(signals.named('attempts.archived').reduce((sum, { count }) => sum + count, 0)).toBe(2);
});

it('keeps a full batch in the stream of which the table takes nothing, for one reason, until it does', async () => {
  const { archiver, table, stream, signals } = buildArchiver({ batchSize: 3 });
  await addAll(Array.from({ length: 3 }, () => buildRecord('poison')));
  await addAll([buildRecord()]);
  await expect(archiver.runOnce()).rejects.toThrow('refuses all 3 attempts (22000: poison)');
  expect([await stream.count(), await stream.countAside()]).toEqual([4, 0]);
  expect(signals.named('archive.refused')).toEqual([]);

  table.takesPoison = true;
  expect([await archiver.runOnce(), await archiver.runOnce()]).toEqual([3, 1]);
  expect(table.rows).toHaveLength(4);
});

it('puts aside all of a batch that is not full, so that few bad rows do not wait for others', async () => {
  const { archiver, stream } = buildArchiver({ batchSize: 3 });
  await addAll(Array.from({ length: 2 }, () => buildRecord('poison')));
  expect(await archiver.runOnce()).toBe(2);
  expect([await stream.count(), await stream.countAside()]).toEqual([0, 2]);
});

it('puts aside what is no record of an attempt', async () => {
  const { archiver, table, signals } = buildArchiver();
  await redis.client.xadd(keys.attemptsToArchive, '*', 'hello', 'world');
  await addAll([buildRecord()]);
  expect(await archiver.runOnce()).toBe(2);
  expect(table.rows).toHaveLength(1);
  expect(signals.named('archive.refused')).toHaveLength(1);
  expect(await redis.client.xlen(keys.attemptsNotArchived)).toBe(1);
});

it('runs until it is stopped, announces what goes wrong, and leaves no trace of itself in the stream', async () => {
  const { archiver, table, stream, signals } = buildArchiver();
  table.isAway = true;
  await addAll([buildRecord()]);
  archiver.start();
  await signals.first('archive.failed');
  table.isAway = false;
  await signals.first('attempts.archived');
  expect(await stream.count()).toBe(0);
  // Redis may have lost the stream, with its consumers.
  await redis.client.flushdb();
  await addAll([buildRecord()]);
  await table.untilStored(2);
  await archiver.stop();
  await archiver.stop();
  expect(await redis.client.xinfo('CONSUMERS', keys.attemptsToArchive, 'archivers')).toEqual([]);
});

it('keeps its place in the stream when it is stopped with attempts that it could not hand on', async () => {
  const { archiver, table, signals } = buildArchiver();
  table.isAway = true;
  await addAll([buildRecord()]);
  archiver.start();
  await signals.first('archive.failed');
  await archiver.stop();
  expect(await pending()).toBe(1);
});

it('forgets workers that have been silent for an hour and hold nothing', async () => {
  const stream = new ArchiveStream(redis.client);
  await stream.createGroup();
  await addAll([buildRecord()]);
  await stream.takeNew('holds', 1, 1);
  await redis.client.xgroup('CREATECONSUMER', keys.attemptsToArchive, 'archivers', 'empty');
  const names = async () => {
    const consumers = await redis.client.xinfo('CONSUMERS', keys.attemptsToArchive, 'archivers');
    return (consumers as string[][]).map(([, name]) => name);
  };
  await stream.removeConsumers(3_600_000);
  expect(await names()).toEqual(['empty', 'holds']);
  await stream.removeConsumers(0);
  expect(await names()).toEqual(['holds']);
});

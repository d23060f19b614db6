import { keys } from '../domain/keys';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { SEEN_FOR_MS, type WorkerReport, WorkerReports } from './redis-worker-reports';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  return { client, reports: new WorkerReports(client) };
}

function reportOf(id: string, change: Partial<WorkerReport> = {}): WorkerReport {
  const budget = { inUse: 1, allowed: 16 };
  return {
    id,
    host: 'node-1',
    pid: 42,
    version: '0.1.0',
    startedAt: 1_700_000_000_000,
    slots: { quick: budget, slow: budget },
    attemptsPerSecond: 12.5,
    ...change,
  };
}

it('gives what each worker has said last, with when that was', async () => {
  const { reports } = await arrange();
  await reports.save(reportOf('a'));
  await reports.save(reportOf('b'));
  await reports.save(reportOf('a', { attemptsPerSecond: 1 }));
  const found = await reports.list();
  const byId = found.toSorted((one, other) => one.id.localeCompare(other.id));
  expect(byId).toMatchObject([reportOf('a', { attemptsPerSecond: 1 }), reportOf('b')]);
  for (const { seenAt } of found) expect(Math.abs(Date.now() - seenAt)).toBeLessThan(SEEN_FOR_MS);
});

it('gives none that has stopped, and none that was not heard of for long', async () => {
  const { client, reports } = await arrange();
  for (const id of ['stopped', 'lost', 'there']) await reports.save(reportOf(id));
  await reports.remove('stopped');
  await client.zadd(keys.workers, Date.now() - SEEN_FOR_MS - 1, 'lost');
  expect((await reports.list()).map(({ id }) => id)).toEqual(['there']);
});

it('keeps nothing of workers that are gone', async () => {
  const { client, reports } = await arrange();
  await reports.save(reportOf('lost'));
  await client.zadd(keys.workers, Date.now() - SEEN_FOR_MS - 1, 'lost');
  await reports.save(reportOf('there'));
  expect(await client.hkeys(keys.workerReports)).toEqual(['there']);
  expect(await client.pttl(keys.workerReports)).toBeLessThanOrEqual(SEEN_FOR_MS);
});

it('leaves out what a later version has written in another form', async () => {
  const { client, reports } = await arrange();
  await reports.save(reportOf('a'));
  await reports.save(reportOf('b'));
  await client.hset(keys.workerReports, 'a', '{"id":"a","form":2}');
  expect((await reports.list()).map(({ id }) => id)).toEqual(['b']);
});

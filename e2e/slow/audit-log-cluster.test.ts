import { AuditCompleter } from '@hookferry/core/accounts/audit/audit-completer';
import { AuditLog } from '@hookferry/core/accounts/audit/redis-audit-log';
import { makeChange } from '@hookferry/core/accounts/audit/redis-recorded-change';
import type { AuditEntry } from '@hookferry/core/domain/audit';
import { keys } from '@hookferry/core/domain/keys';
import { buildAct } from '@hookferry/core/testing/build-act';
import { setIfFree } from '@hookferry/core/testing/set-if-free.script';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import { Cluster } from 'ioredis';
import { RedisCluster } from '../support/redis-cluster';

const LATER_MS = 60_000;
const MUCH_LATER_MS = 3_600_000;

/** Loses all that its process sends from a certain command on, as if the process had been killed before it. */
class KilledBeforeCommand extends Cluster {
  sent = 0;
  killedAt = Number.POSITIVE_INFINITY;

  override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
    if (++this.sent < this.killedAt) return super.sendCommand(...args);
    return Promise.reject(new Error('killed'));
  }
}

let cluster: RedisCluster;
let client: Cluster;
let mortal: KilledBeforeCommand;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  client = new Cluster(nodes);
  mortal = new KilledBeforeCommand(nodes);
  await mortal.ping();
});
afterAll(async () => {
  client.disconnect();
  mortal.disconnect();
  await cluster.remove();
});

/** As a worker does it that much later. @returns what it says it has recorded. */
async function sweep(afterMs: number): Promise<readonly AuditEntry[]> {
  const recorded: AuditEntry[] = [];
  const completer = new AuditCompleter({
    auditLog: new AuditLog(client),
    auditBounds: buildAct().bounds,
    onRecorded: (entry) => recorded.push(entry),
    clock: () => Date.now() + afterMs,
    emit: () => {},
  });
  await completer.runOnce();
  return recorded;
}

/** A change far from its log. Killed before one of the commands that it sends, or `undefined`: not at all. */
async function change(killedAt: number | undefined) {
  const accountId = uniqueAccountId();
  const key = `thing:{of-${accountId}}`;
  mortal.sent = 0;
  mortal.killedAt = killedAt ?? Number.POSITIVE_INFINITY;
  const act = buildAct();
  const made = await makeChange(mortal, setIfFree({ thing: key, value: '1' }), { act, accountId }).catch(
    () => 'killed',
  );
  const listDone = async () => (await new AuditLog(client).listDone(accountId, {}, 10)).entries;
  return { id: act.id, key, made, sent: mortal.sent, listDone };
}

it('has an entry for each change, and for no other, wherever its process was killed', async () => {
  // The scripts are known to the nodes from then on.
  for (let time = 0; time < 20; time += 1) await change(undefined);
  const { sent: commands, made } = await change(undefined);
  expect(made).toBe('set');
  expect(commands).toBeGreaterThan(3);

  let left = 0;
  for (let killedAt = 1; killedAt <= commands; killedAt += 1) {
    const { id, key, listDone } = await change(killedAt);
    const isMade = (await client.exists(key)) === 1;
    left += isMade && (await listDone()).length === 0 ? 1 : 0;
    const told = await sweep(LATER_MS);
    expect((await listDone()).map((entry) => entry.id)).toEqual(isMade ? [id] : []);
    // Once at the most, and never of another one.
    expect([[], [id]]).toContainEqual(told.map((entry) => entry.id));
    expect(await sweep(LATER_MS)).toEqual([]);
  }
  expect(left).toBeGreaterThan(0);
});

it('looks no more for the entries of changes that were not made', async () => {
  await change(2);
  expect(await client.zcard(keys.waitingAudits)).toBeGreaterThan(0);
  await sweep(MUCH_LATER_MS);
  expect(await client.zcard(keys.waitingAudits)).toBe(0);
});

it('leaves alone what may still be under way', async () => {
  const { id, key, listDone } = await change(3);
  expect(await client.exists(key)).toBe(1);
  expect(await sweep(0)).toEqual([]);
  expect(await listDone()).toEqual([]);
  expect((await sweep(LATER_MS)).map((entry) => entry.id)).toEqual([id]);
  expect(await listDone()).toHaveLength(1);
});

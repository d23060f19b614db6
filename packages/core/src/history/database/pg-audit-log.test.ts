import { Audit, type AuditQuery } from '../../accounts/audit/audit';
import { AuditLog } from '../../accounts/audit/redis-audit-log';
import type { Act } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { createNewId } from '../../platform/ids';
import { buildAct } from '../../testing/build-act';
import { fake } from '../../testing/fake';
import { recordSignals } from '../../testing/record-signals';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId } from '../../testing/unique-ids';
import { AuditMover } from '../mover/audit-mover';
import type { MoverParts } from '../mover/mover-parts';
import { PgAuditLog } from './pg-audit-log';
import { eraseAccount } from './pg-erase';

const DAY_MS = 86_400_000;

let redis: TestRedis;
let test: TestHistory;
let auditLog: AuditLog;
let pgAuditLog: PgAuditLog;
let audit: Audit;
beforeAll(async () => {
  [redis, test] = await Promise.all([openTestRedis(), openTestHistory()]);
  auditLog = new AuditLog(redis.client);
  pgAuditLog = new PgAuditLog(test.database);
  audit = new Audit({ auditLog, movedAuditLog: pgAuditLog });
});
afterAll(async () => {
  await Promise.all([redis.close(), test.close()]);
});

const BOUNDS = { count: Number.POSITIVE_INFINITY, ageMs: 365 * DAY_MS };

function mover(now = Date.now()): AuditMover {
  const { listen: emit } = recordSignals();
  return new AuditMover(
    fake<MoverParts>({ auditLog, pgAuditLog, auditBounds: BOUNDS, clock: () => now, emit }),
  );
}

function actAt(at: number, change: Partial<Act> = {}): Act {
  return buildAct({ id: createNewId(() => at)('aud'), at, bounds: BOUNDS, ...change });
}

/** Read page by page, as a client does. */
async function readAll(query: AuditQuery, limit = 2): Promise<readonly string[]> {
  const ids: string[] = [];
  let before: string | undefined;
  do {
    const page = await audit.list(query, limit, before);
    ids.push(...page.entries.map(({ id }) => id));
    before = page.nextBefore;
  } while (before !== undefined);
  return ids;
}

it('moves the log to the history, where readers find it with what has come since', async () => {
  const accountId = uniqueAccountId();
  const start = Date.now() - 60_000;
  const acts = [0, 1, 2, 3, 4].map((i) => actAt(start + i));
  for (const act of acts.slice(0, 3)) await auditLog.record({ act, accountId, targetId: 'wh_1' });
  await mover().runOnce();
  expect(await redis.client.exists(keys.auditLog(accountId), keys.auditIndex)).toBe(0);
  for (const act of acts.slice(3)) await auditLog.record({ act, accountId, targetId: 'wh_2' });
  const newest = acts.map(({ id }) => id).toReversed();
  expect(await readAll({ of: accountId })).toEqual(newest);
  expect(await readAll({ of: 'everybody', since: start })).toEqual(newest);
  expect(await readAll({ of: accountId, target: 'wh_1' })).toEqual(newest.slice(2));
  expect(await readAll({ of: accountId, since: start + 1, until: start + 4 })).toEqual(newest.slice(1, 4));
  expect(await readAll({ of: accountId, action: 'webhook.*', actor: '0123456789abcdef' })).toEqual(newest);
  expect(await readAll({ of: accountId, action: 'api_key.*' })).toEqual([]);
  expect(await readAll({ of: accountId, action: 'webhook.update' })).toEqual(newest);
  expect(await readAll({ of: accountId, actor: 'nobody' })).toEqual([]);
  expect(await readAll({ of: uniqueAccountId() })).toEqual([]);
});

it('shows an action of an earlier version by the name that it had, and finds it by that', async () => {
  const accountId = uniqueAccountId();
  const { bounds: _bounds, ...done } = actAt(Date.now());
  const entry = { ...done, accountId, action: 'dead_letter.redrive' };
  await auditLog.record({ act: actAt(done.at, entry as Partial<Act>), accountId });
  const isFound = async () => {
    const pages = [{}, { action: 'dead_letter.redrive' }, { action: 'dead_letter.*' }].map((query) =>
      audit.list({ of: accountId, ...query }, 10),
    );
    for (const { entries } of await Promise.all(pages)) expect(entries).toEqual([entry]);
  };
  await isFound();
  await mover().runOnce();
  expect(await redis.client.exists(keys.auditLog(accountId))).toBe(0);
  await isFound();
});

it('leaves what it moves in Redis until the history has it, and shows it once meanwhile', async () => {
  const accountId = uniqueAccountId();
  const act = actAt(Date.now());
  await auditLog.record({ act, accountId });
  const { entries } = await auditLog.listDone(accountId, {}, 1);
  // As if the mover died between its two steps.
  await pgAuditLog.add(entries);
  expect(await readAll({ of: accountId })).toEqual([act.id]);
  await mover().runOnce();
  expect(await redis.client.exists(keys.auditLog(accountId))).toBe(0);
  expect(await readAll({ of: accountId })).toEqual([act.id]);
});

it('gives each entry as it was, whatever texts people write', async () => {
  const accountId = uniqueAccountId();
  const { bounds: _bounds, ...act } = actAt(Date.now());
  const texts = ['a\0b', String.raw`\u0000`, '\ud800', '"', '\\'];
  const changes = texts.map((to) => ({ field: 'description', to }));
  const entry = { ...act, accountId, changes };
  await pgAuditLog.add([entry]);
  expect((await pgAuditLog.list({ of: accountId }, undefined, 10)).entries).toEqual([entry]);
});

it('reads the newest of all accounts, and removes the oldest, account by account', async () => {
  const accounts = Array.from({ length: 5 }, uniqueAccountId);
  const start = Date.now() - 500 * DAY_MS;
  const entries = Array.from({ length: 20 }, (_, i) => {
    const { bounds: _bounds, ...act } = actAt(start + i);
    // One of them has most of them, and some nothing of late.
    const accountId = accounts[i % 3 === 0 ? 0 : (i % 7) % accounts.length];
    return { ...act, ...(accountId === undefined ? {} : { accountId }), targetId: `wh_${i % 2}` };
  });
  await pgAuditLog.add(entries);
  const newest = entries.map(({ id }) => id).toReversed();
  const until = start + 1_000;
  expect(await readAll({ of: 'everybody', until }, 3)).toEqual(newest);
  const ofOne = newest.filter((_id, i) => i % 2 === 0);
  expect(await readAll({ of: 'everybody', until, target: 'wh_1' }, 4)).toEqual(ofOne);
  await pgAuditLog.removeBefore(start + 15);
  expect(await readAll({ of: 'everybody', until })).toEqual(newest.slice(0, 5));
  await pgAuditLog.removeBefore(until);
  expect(await readAll({ of: 'everybody', until })).toEqual([]);
});

it('keeps what the index names before it is there, and lets go of it when nothing comes', async () => {
  const accountId = uniqueAccountId();
  const { id, at } = actAt(Date.now());
  await redis.client.zadd(keys.auditIndex, 0, `${id} ${accountId}`);
  await mover(at + 1_000).runOnce();
  expect(await redis.client.zcard(keys.auditIndex)).toBe(1);
  await mover(at + 10 * 60_000).runOnce();
  expect(await redis.client.zcard(keys.auditIndex)).toBe(0);
});

it('lets go of what is older than it is kept', async () => {
  const accountId = uniqueAccountId();
  const now = Date.now();
  const [old, young] = [actAt(now - 100 * DAY_MS), actAt(now - 99 * DAY_MS)];
  for (const act of [old, young]) await auditLog.record({ act, accountId });
  await mover(now).runOnce();
  expect(await readAll({ of: accountId })).toEqual([young.id, old.id]);
  await mover(old.at + BOUNDS.ageMs + 1).runOnce();
  expect(await readAll({ of: accountId })).toEqual([young.id]);
});

it('is erased with its account', async () => {
  const [accountId, other] = [uniqueAccountId(), uniqueAccountId()];
  for (const owner of [accountId, other]) await auditLog.record({ act: actAt(Date.now()), accountId: owner });
  await mover().runOnce();
  await auditLog.record({ act: actAt(Date.now()), accountId });
  await auditLog.remove(accountId);
  expect(await eraseAccount(test.database, accountId, 1_000)).toBe(1);
  expect(await readAll({ of: accountId })).toEqual([]);
  expect(await readAll({ of: other })).toHaveLength(1);
});

it('says that older entries are out of reach while the history is away', async () => {
  const accountId = uniqueAccountId();
  const act = actAt(Date.now());
  await auditLog.record({ act, accountId });
  await test.server.query('ALTER TABLE webhook_audit RENAME TO webhook_audit_away');
  try {
    const page = await audit.list({ of: accountId }, 10);
    expect(page).toEqual({
      entries: [expect.objectContaining({ id: act.id })],
      nextBefore: undefined,
      isCutShort: true,
    });
  } finally {
    await test.server.query('ALTER TABLE webhook_audit_away RENAME TO webhook_audit');
  }
});

import type { AuditEntry } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { createNewId } from '../../platform/ids';
import { recordSignals } from '../../testing/record-signals';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId } from '../../testing/unique-ids';
import { AuditLog } from './redis-audit-log';
import { KEPT_OF_ACCOUNT, Refusals } from './refusals';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

const START = 1_790_000_000_000;
const AGE_MS = 365 * 86_400_000;

function arrange() {
  let now = START;
  const newId = createNewId(() => now);
  const signals = recordSignals();
  const refusals = new Refusals({
    redis: redis.client,
    auditBounds: { count: 100, ageMs: AGE_MS },
    clock: () => now,
    emit: signals.listen,
  });
  const refusal = (change: Partial<AuditEntry> = {}): AuditEntry => ({
    id: newId('aud'),
    at: now,
    actor: { type: 'anonymous' },
    action: 'webhook.create',
    code: 'unauthenticated',
    ...change,
  });
  return { refusals, refusal, signals, pass: (ms: number) => (now += ms) };
}

const log = () => new AuditLog(redis.client);

it('records ten a second of one address, however many there are, and says how many it left out', async () => {
  const { refusals, refusal, signals, pass } = arrange();
  for (let i = 0; i < 1_000; i += 1) refusals.note(refusal({ address: '192.0.2.1' }));
  refusals.note(refusal({ address: '192.0.2.2' }));
  pass(1_000);
  refusals.note(refusal({ address: '192.0.2.1' }));
  await refusals.stop();
  const { entries } = await log().listRefused('everybody', {}, 100);
  expect(entries.map(({ address }) => address).filter((one) => one === '192.0.2.1')).toHaveLength(11);
  expect(entries).toHaveLength(12);
  expect(signals.named('audit.refusals_left_out')).toEqual([{ name: 'audit.refusals_left_out', count: 990 }]);
});

it('records a hundred a second of however many addresses', async () => {
  const { refusals, refusal } = arrange();
  for (let i = 0; i < 1_000; i += 1) refusals.note(refusal({ address: `10.0.${i >> 8}.${i & 255}` }));
  await refusals.stop();
  expect(await redis.client.zcard(keys.allAuditRefusals)).toBe(100);
});

it('keeps the newest of an account, apart from those of others', async () => {
  const { refusals, refusal } = arrange();
  const [accountId, other] = [uniqueAccountId(), uniqueAccountId()];
  const kept = refusal({ accountId: other });
  await refusals.record(kept);
  for (let i = 0; i < KEPT_OF_ACCOUNT + 5; i += 1) await refusals.record(refusal({ accountId }));
  expect(await redis.client.zcard(keys.auditRefusals(accountId))).toBe(KEPT_OF_ACCOUNT);
  expect((await log().listRefused(other, {}, 10)).entries).toEqual([kept]);
});

it('goes with its account, and leaves those of others', async () => {
  const { refusals, refusal } = arrange();
  const [accountId, other] = [uniqueAccountId(), uniqueAccountId()];
  for (const owner of [accountId, other]) await refusals.record(refusal({ accountId: owner }));
  await log().remove(accountId);
  const { entries } = await log().listRefused('everybody', {}, 10);
  expect(entries.map((entry) => entry.accountId)).toEqual([other]);
  expect((await log().listRefused(accountId, {}, 10)).entries).toEqual([]);
});

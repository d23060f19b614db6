import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { ASKED_AN_HOUR, TRY_CLAIM_MS, VerificationStore } from './redis-verification-store';

const NOW = 1_700_000_000_000;
const CLAIMED_UNTIL = NOW + TRY_CLAIM_MS;

let redis: TestRedis;
let store: VerificationStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new VerificationStore(redis.client);
});
afterEach(() => redis.client.flushdb());
afterAll(() => redis.close());

const newAddress = () => ({ accountId: uniqueAccountId(), endpointId: uniqueEndpointId() });

async function claimOne(now = NOW) {
  const [claimed] = await store.claimDue(now, 16);
  if (claimed === undefined) throw new Error('Nothing was due.');
  return claimed;
}

describe('tries that are due', () => {
  it('are claimed by one of all who ask, once they are due', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    expect(await store.claimDue(NOW - 1, 16)).toEqual([]);
    const claimed = await Promise.all(Array.from({ length: 8 }, () => store.claimDue(NOW, 16)));
    expect(claimed.flat()).toEqual([{ ...address, claimedUntil: CLAIMED_UNTIL }]);
  });

  it('are claimed no more of than were asked for', async () => {
    for (let each = 0; each < 3; each++) await store.ask(newAddress(), NOW);
    expect(await store.claimDue(NOW, 2)).toHaveLength(2);
    expect(await store.claimDue(NOW, 2)).toHaveLength(1);
  });

  it('are claimed again when whoever had one did not end it', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    await claimOne();
    expect(await store.claimDue(CLAIMED_UNTIL - 1, 16)).toEqual([]);
    expect(await store.claimDue(CLAIMED_UNTIL, 16)).toMatchObject([address]);
  });

  it('are due no later than before when somebody asks for one', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    await store.ask(address, NOW + 60_000);
    expect(await store.claimDue(NOW, 16)).toHaveLength(1);
  });

  it('are gone with what they are for', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    await store.forget(address);
    expect(await store.claimDue(NOW, 16)).toEqual([]);
  });
});

describe('a try that has ended', () => {
  it('leaves nothing when no other one is due', async () => {
    await store.ask(newAddress(), NOW);
    await store.end(await claimOne(), undefined, NOW);
    expect(await redis.client.exists(keys.verificationsDue, keys.verificationsUnderWay)).toBe(0);
  });

  it('is followed by the next one at its time', async () => {
    await store.ask(newAddress(), NOW);
    await store.end(await claimOne(), NOW + 60_000, NOW);
    expect(await store.claimDue(NOW + 59_999, 16)).toEqual([]);
    expect(await store.claimDue(NOW + 60_000, 16)).toHaveLength(1);
  });

  it('is followed at once by one that was asked for meanwhile, and not before its end', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    const claimed = await claimOne();
    await store.ask(address, NOW + 1);
    expect(await store.claimDue(NOW + 1, 16)).toEqual([]);
    await store.end(claimed, undefined, NOW + 2);
    expect(await store.claimDue(NOW + 2, 16)).toMatchObject([address]);
  });

  it('says nothing of a try that another process has made over', async () => {
    const address = newAddress();
    await store.ask(address, NOW);
    const late = await claimOne();
    await claimOne(CLAIMED_UNTIL);
    await store.end(late, undefined, CLAIMED_UNTIL);
    expect(await store.claimDue(CLAIMED_UNTIL, 16)).toEqual([]);
    expect(await store.claimDue(CLAIMED_UNTIL + TRY_CLAIM_MS, 16)).toMatchObject([address]);
  });
});

describe('verifications on request', () => {
  const askOften = (accountOf: () => ReturnType<typeof uniqueAccountId>) =>
    Promise.all(Array.from({ length: 40 }, () => store.takeFromHost(accountOf(), 'a.example.com')));
  const granted = (waits: readonly number[]) => waits.filter((waitMs) => waitMs === 0).length;

  it('are a few an hour for a host, however many ask at the same time', async () => {
    const waits = await askOften(uniqueAccountId);
    expect(granted(waits)).toBe(ASKED_AN_HOUR.ofAll);
    expect(Math.max(...waits)).toBeGreaterThan(3_500_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_600_000);
    expect(await store.takeFromHost(uniqueAccountId(), 'b.example.com')).toBe(0);
  });

  it('leave room for other accounts at a host of which one account asks for all that it may', async () => {
    const one = uniqueAccountId();
    expect(granted(await askOften(() => one))).toBe(ASKED_AN_HOUR.ofAccount);
    expect(await store.takeFromHost(uniqueAccountId(), 'a.example.com')).toBe(0);
  });

  it('write no name of a host into Redis', async () => {
    await store.takeFromHost(uniqueAccountId(), 'a.example.com');
    expect((await redis.client.keys('*')).join()).not.toContain('example');
  });
});

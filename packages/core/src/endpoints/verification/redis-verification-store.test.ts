import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { ASKED_AN_HOUR, TRIED_A_MINUTE, TRY_CLAIM_MS, VerificationStore } from './redis-verification-store';

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
  it('are a few an hour for a host, however many ask at the same time', async () => {
    const waits = await Promise.all(Array.from({ length: 20 }, () => store.takeFromHost('a.example.com')));
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(ASKED_AN_HOUR);
    expect(Math.max(...waits)).toBeGreaterThan(3_500_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_600_000);
    expect(await store.takeFromHost('b.example.com')).toBe(0);
  });

  it('write no name of a host into Redis', async () => {
    await store.takeFromHost('a.example.com');
    await store.takeTry(uniqueAccountId(), 'a.example.com');
    expect((await redis.client.keys('*')).join()).not.toContain('example');
  });
});

describe('tries', () => {
  const take = (of: () => readonly [ReturnType<typeof uniqueAccountId>, string]) =>
    Promise.all(Array.from({ length: 100 }, () => store.takeTry(...of())));
  const granted = (waits: readonly number[]) => waits.filter((waitMs) => waitMs === 0);

  it('are a few a minute at a host, whosever webhooks they are and however it is written', async () => {
    let asked = 0;
    const waits = await take(() => [uniqueAccountId(), asked++ % 2 ? 'a.example.com' : 'a.example.com.']);
    expect(granted(waits)).toHaveLength(TRIED_A_MINUTE.ofHost);
    expect(Math.max(...waits)).toBeGreaterThan(50_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
    expect(await store.takeTry(uniqueAccountId(), 'b.example.com')).toBe(0);
  });

  it('are a few a minute of an account, however many names it has for a server', async () => {
    const accountId = uniqueAccountId();
    let asked = 0;
    expect(granted(await take(() => [accountId, `${asked++}.example.com`]))).toHaveLength(
      TRIED_A_MINUTE.ofAccount,
    );
  });
});

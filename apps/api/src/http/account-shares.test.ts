import type { AccountId } from '@hookferry/core/domain/account';
import { callApi } from '../testing/call-route';
import { startTestApi } from '../testing/start-test-api';
import { AccountShares } from './account-shares';

const MOST = 16;
const A = 'acc_a' as AccountId;
const B = 'acc_b' as AccountId;

describe('AccountShares', () => {
  it('lets an account that is alone begin all that it sends', () => {
    const shares = new AccountShares();
    expect(takeAll(shares, A, 200)).toHaveLength(0);
  });

  it('lets an account begin 16 requests beside others, and those of others at once', () => {
    const shares = new AccountShares();
    void shares.take(B, 'changing');
    expect(takeAll(shares, A, 100)).toHaveLength(100 - MOST);
    expect(takeAll(shares, B, MOST - 1)).toHaveLength(0);
  });

  it('begins those that wait in their order, one for each that ends', async () => {
    const shares = new AccountShares();
    void shares.take(B, 'changing');
    const begun: number[] = [];
    for (const [i, waiting] of takeAll(shares, A, MOST + 3).entries()) void waiting.then(() => begun.push(i));
    shares.end(A, 'changing');
    await settle();
    expect(begun).toEqual([0]);
    shares.end(A, 'changing');
    shares.end(A, 'changing');
    await settle();
    expect(begun).toEqual([0, 1, 2]);
  });

  it('lets nothing pass what waits', () => {
    const shares = new AccountShares();
    void shares.take(B, 'changing');
    const waiting = takeAll(shares, A, MOST + 1);
    expect(waiting).toHaveLength(1);
    expect(shares.take(A, 'changing')).toBeInstanceOf(Promise);
  });

  it('begins all that waits once the others have sent nothing for a second', async () => {
    let now = 0;
    const shares = new AccountShares(() => now);
    void shares.take(B, 'changing');
    const waiting = takeAll(shares, A, MOST + 50);
    expect(waiting).toHaveLength(50);
    now = 1_000;
    shares.end(A, 'changing');
    await Promise.all(waiting);
    expect(takeAll(shares, A, 100)).toHaveLength(0);
  });

  it('lets no slow reads keep the account from changing things', () => {
    const shares = new AccountShares();
    void shares.take(B, 'changing');
    const reads = Array.from({ length: MOST + 1 }, () => shares.take(A, 'reading'));
    expect(reads.filter((waiting) => waiting !== undefined)).toHaveLength(1);
    expect(shares.take(A, 'changing')).toBeUndefined();
  });

  it('gives all places back', async () => {
    const shares = new AccountShares();
    for (let round = 0; round < 3; round += 1) {
      void shares.take(B, 'changing');
      const waiting = takeAll(shares, A, MOST + 5);
      expect(waiting).toHaveLength(5);
      for (let i = 0; i < MOST + 5; i += 1) shares.end(A, 'changing');
      await Promise.all(waiting);
      shares.end(B, 'changing');
    }
  });
});

describe('the requests of an API', () => {
  it('each take a place of their account, and give it back however they end', async () => {
    const take = jest.spyOn(AccountShares.prototype, 'take');
    const end = jest.spyOn(AccountShares.prototype, 'end');
    const api = await startTestApi();
    try {
      const { key, accountId } = await api.issueKey();
      const large = { type: 'brief.created', data: { text: 'x'.repeat(20_000) } };
      const responses = await Promise.all([
        callApi(api, 'get', '/v1/webhooks', key),
        callApi(api, 'get', '/v1/webhooks/wh_unknown', key),
        callApi(api, 'post', '/v1/events', key).send({ type: 'brief.created', data: {} }),
        callApi(api, 'post', '/v1/events', key).send(large),
        callApi(api, 'post', '/v1/webhooks', key).send({}),
        callApi(api, 'get', '/v1/deliveries/export', key),
        callApi(api, 'get', '/v1/webhooks', 'no-key'),
      ]);
      expect(responses.map(({ status }) => status)).toEqual([200, 404, 422, 413, 422, 200, 401]);
      const ofAccount = (spy: typeof take | typeof end) =>
        spy.mock.calls.filter(([account]) => account === accountId).length;
      // The one that is too large is refused while it is read, the list is heavy, and the last one has no account.
      expect(ofAccount(take)).toBe(4);
      expect(ofAccount(end)).toBe(4);
    } finally {
      await api.close();
      jest.restoreAllMocks();
    }
  });
});

/** @returns what waits */
function takeAll(shares: AccountShares, accountId: AccountId, count: number): readonly Promise<void>[] {
  const taken = Array.from({ length: count }, () => shares.take(accountId, 'changing'));
  return taken.filter((waiting) => waiting !== undefined);
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

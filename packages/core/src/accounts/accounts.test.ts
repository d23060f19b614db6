import { ACCOUNT_ID_PREFIX, type AccountId } from '../domain/account';
import { queueKeysOf } from '../domain/keys';
import { createNewId } from '../platform/ids';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { type AccountPatch, Accounts, type NewAccount } from './accounts';
import { AccountStore } from './redis-account-store';
import { PauseStore } from './redis-pause-store';

const queueKeys = queueKeysOf('bull');

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

/** Each asking of the clock is a millisecond later. */
function create() {
  let now = 1_700_000_000_000;
  const clock = () => (now += 1);
  const accountStore = new AccountStore(redis.client);
  const newId = createNewId(clock);
  const module = new Accounts({ accountStore, pauseStore: new PauseStore(redis.client), clock });
  const accounts = {
    create: (input: NewAccount, creation = newId(ACCOUNT_ID_PREFIX)) => module.create(input, creation),
    update: (id: AccountId, patch: AccountPatch) => module.update(id, patch),
    read: (id: AccountId) => module.read(id),
    list: (limit: number, before?: string) => module.list(limit, before),
    ensureDefault: () => module.ensureDefault(),
  };
  return { accountStore, accounts, clock };
}

describe('create', () => {
  it('keeps the id that it was given, and makes one otherwise', async () => {
    const { accounts } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, name: 'Acme Ltd' });
    expect(acme).toMatchObject({ id: 'acme', name: 'Acme Ltd' });
    expect(await accounts.read(acme.id)).toEqual(acme);
    const other = await accounts.create({});
    expect(other.id).toMatch(/^acct_[0-9a-z]{22}$/);
    expect(await accounts.read(other.id)).toEqual(other);
  });

  it('refuses an id that there is, and changes nothing', async () => {
    const { accounts } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId });
    await expect(accounts.create({ id: acme.id, name: 'Mine' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await accounts.list(10)).toEqual({ accounts: [acme], nextCursor: undefined });
  });
});

describe('repeating a creation', () => {
  it('gives the account that it made, be its id chosen or not', async () => {
    const { accounts } = create();
    for (const input of [{}, { id: 'acme' as AccountId }]) {
      const creation = `acct_of_${input.id}`;
      const account = await accounts.create(input, creation);
      expect(await accounts.create(input, creation)).toEqual(account);
    }
    expect((await accounts.list(10)).accounts).toHaveLength(2);
  });
});

describe('update', () => {
  const weightOf = (id: AccountId) => redis.client.hget(queueKeys.accountWeights, id);

  it('changes the weight, where it is read and where jobs are put in order, and nothing else', async () => {
    const { accounts } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, name: 'Acme Ltd' });
    expect(await weightOf(acme.id)).toBeNull();
    expect(await accounts.update(acme.id, { weight: 10 })).toEqual({ ...acme, weight: 10 });
    expect(await accounts.read(acme.id)).toEqual({ ...acme, weight: 10 });
    expect(await weightOf(acme.id)).toBe('10');
    expect(await accounts.update(acme.id, { weight: 1 })).toMatchObject({ weight: 1 });
    expect(await weightOf(acme.id)).toBe('1');
  });

  it('without a weight gives the account as it is', async () => {
    const { accounts } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, weight: 3 });
    expect(await weightOf(acme.id)).toBe('3');
    expect(await accounts.update(acme.id, {})).toEqual(acme);
  });

  it('refuses what there is not, and writes nothing of it', async () => {
    const { accounts } = create();
    const nobody = 'nobody' as AccountId;
    await expect(accounts.update(nobody, { weight: 10 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(accounts.update(nobody, {})).rejects.toMatchObject({ code: 'not_found' });
    expect(await weightOf(nobody)).toBeNull();
  });

  it('changes nothing of an account that is being erased', async () => {
    const { accounts, accountStore } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, weight: 3 });
    const erasing = await accountStore.markErasing(acme.id, 5);
    for (const patch of [{ weight: 10 }, {}]) {
      await expect(accounts.update(acme.id, patch)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await accounts.read(acme.id)).toEqual(erasing);
    expect(await weightOf(acme.id)).toBe('3');
  });

  it('leaves no weight behind when the account is erased, even if the erasure breaks off in its last step', async () => {
    const { accounts, accountStore, clock } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, weight: 3 });
    const breaksOff = jest.spyOn(redis.client, 'evalsha').mockRejectedValueOnce(new Error('killed'));
    await expect(accountStore.remove(acme, clock(), clock())).rejects.toThrow('killed');
    breaksOff.mockRestore();
    expect(await accounts.read(acme.id)).toEqual(acme);
    expect(await weightOf(acme.id)).toBeNull();
    await accountStore.remove(acme, clock(), clock());
    await expect(accounts.read(acme.id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await weightOf(acme.id)).toBeNull();
  });
});

describe('list', () => {
  it('gives page by page, newest first', async () => {
    const { accounts } = create();
    for (const id of ['b', 'c', 'A']) await accounts.create({ id: id as AccountId });
    const first = await accounts.list(2);
    const second = await accounts.list(2, first.nextCursor);
    expect([first, second].map((page) => page.accounts.map(({ id }) => id))).toEqual([['A', 'c'], ['b']]);
    expect(second.nextCursor).toBeUndefined();
  });

  it('of nothing is empty', async () => {
    expect(await create().accounts.list(10)).toEqual({ accounts: [], nextCursor: undefined });
  });
});

it('creates the default account once', async () => {
  const { accounts } = create();
  await accounts.ensureDefault();
  const { accounts: created } = await accounts.list(10);
  await accounts.ensureDefault();
  expect((await accounts.list(10)).accounts).toEqual(created);
  expect(created).toMatchObject([{ id: 'default' }]);
});

describe('an account that is erased', () => {
  it('is marked once, and keeps everything else that is known of it', async () => {
    const { accounts, accountStore } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId, name: 'Acme Ltd' });
    const marked = await accountStore.markErasing(acme.id, 5);
    expect(marked).toEqual({ ...acme, erasingSince: 5 });
    expect(await accountStore.markErasing(acme.id, 6)).toEqual(marked);
    expect(await accounts.read(acme.id)).toEqual(marked);
    expect((await accountStore.findStanding(acme.id)).state).toBe('erased');
    expect(await accountStore.markErasing('nobody' as AccountId, 5)).toBeUndefined();
  });

  it('leaves its id, which nobody gets for as long as events of that time may be kept', async () => {
    const { accounts, accountStore, clock } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId });
    await accountStore.remove(acme, clock(), clock() + 100);
    await expect(accounts.read(acme.id)).rejects.toMatchObject({ code: 'not_found' });
    expect((await accounts.list(10)).accounts).toEqual([]);
    expect((await accountStore.findStanding(acme.id)).state).toBe('erased');
    await expect(accounts.create({ id: acme.id })).rejects.toMatchObject({ code: 'conflict' });

    for (let i = 0; i < 100; i += 1) clock();
    const again = await accounts.create({ id: acme.id });
    expect(await accounts.read(acme.id)).toEqual(again);
    expect((await accountStore.findStanding(acme.id)).state).toBe('open');
  });

  it('is forgotten altogether with the next one, once its id is free', async () => {
    const { accounts, accountStore, clock } = create();
    const acme = await accounts.create({ id: 'acme' as AccountId });
    const other = await accounts.create({ id: 'other' as AccountId });
    await accountStore.remove(acme, clock(), clock());
    await accountStore.remove(other, clock(), clock() + 100);
    expect((await accountStore.findStanding(acme.id)).state).toBe('unknown');
    expect((await accountStore.findStanding(other.id)).state).toBe('erased');
  });
});

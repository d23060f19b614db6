import { type AccountId, DEFAULT_ACCOUNT, type Principal, scopes } from '../domain/account';
import { buildApiKey } from '../testing/build-api-key';
import { uniqueAccountId } from '../testing/unique-ids';
import { KnownAccounts, OpenAccounts, resolveAccount } from './resolve-account';

describe('resolve account', () => {
  const ACME = 'acme' as AccountId;
  const withoutAdmin = scopes.filter((scope) => scope !== 'admin');

  const ERASING = 'erasing' as AccountId;

  /** Knows the account `acme`, and one that is being erased; `lookedUp` are the ids that were looked for. */
  function create() {
    const lookedUp: string[] = [];
    const accountStore = {
      async find(id: AccountId) {
        lookedUp.push(id);
        if (id === ERASING) return { id, createdAt: 0, erasingSince: 1 };
        return id === ACME ? { id, createdAt: 0 } : undefined;
      },
    };
    const resolve = (principal: Principal, account: string | undefined) =>
      resolveAccount({ accountStore }, principal, account);
    return { resolve, lookedUp };
  }

  describe('resolveAccount', () => {
    it("makes an operator's key one of the account that it names, with the scopes that it has", async () => {
      const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin', 'webhooks:read'] });
      expect(await create().resolve(record, ACME)).toEqual({ ...record, accountId: ACME });
    });

    it.each([[undefined], ['own']])('leaves a key as it is when %s is asked for', async (account) => {
      const { resolve, lookedUp } = create();
      const { record } = buildApiKey({ accountId: 'own' as AccountId });
      expect(await resolve(record, account)).toBe(record);
      expect(lookedUp).toEqual([]);
    });

    it.each(['nobody', ERASING, '', 'acme,acme', '../acme', 'a'.repeat(65)])(
      'finds no account "%s" for an operator',
      async (account) => {
        const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
        await expect(create().resolve(record, account)).rejects.toMatchObject({ code: 'not_found' });
      },
    );

    it.each([
      ['an admin of another account', buildApiKey().record],
      [
        "the operator's own, but no admin",
        buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: withoutAdmin }).record,
      ],
    ])(
      'refuses a key of %s, whether there is such an account or not, without looking',
      async (_what, record) => {
        const { resolve, lookedUp } = create();
        for (const account of [ACME, 'nobody', '']) {
          await expect(resolve(record, account)).rejects.toMatchObject({ code: 'operator_only' });
        }
        expect(lookedUp).toEqual([]);
      },
    );
  });
});

describe('known accounts', () => {
  const ID = '0123456789abcdef';
  const KEY = `whk_${ID}_${'0'.repeat(48)}`;

  it('tells the account of a key that was good, by its id alone', () => {
    const accounts = new KnownAccounts();
    const accountId = uniqueAccountId();
    expect(accounts.of(`Bearer ${KEY}`)).toBeUndefined();
    accounts.note({ id: ID, accountId });
    expect(accounts.of(`Bearer ${KEY}`)).toBe(accountId);
    expect(accounts.of(`Bearer ${KEY.replace(/.$/, '1')}`)).toBe(accountId);
  });

  it.each([undefined, '', 'Bearer', 'Bearer whk_', `Basic ${KEY}`, 'Bearer something-else'])(
    'knows of none by %p',
    (authorization) => {
      const accounts = new KnownAccounts();
      accounts.note({ id: ID, accountId: uniqueAccountId() });
      expect(accounts.of(authorization)).toBeUndefined();
    },
  );
});

describe('takes events', () => {
  const ACME = 'acme' as AccountId;

  it('remembers for a second that an account takes events, and asks each time about one that does not', async () => {
    let now = 0;
    let isErased = false;
    let asked = 0;
    const openAccounts = new OpenAccounts(
      {
        async findStanding() {
          asked += 1;
          return { isErased, historyDays: undefined };
        },
      },
      () => now,
    );
    expect(await openAccounts.takesEvents(ACME)).toBe(true);
    isErased = true;
    now = 999;
    expect([await openAccounts.takesEvents(ACME), asked]).toEqual([true, 1]);
    now = 1_000;
    expect([await openAccounts.takesEvents(ACME), asked]).toEqual([false, 2]);
    isErased = false;
    expect([await openAccounts.takesEvents(ACME), asked]).toEqual([true, 3]);
  });
});

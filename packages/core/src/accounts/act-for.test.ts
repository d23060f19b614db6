import { DEFAULT_ACCOUNT } from '../model/account';
import { scopes } from '../model/api-key';
import type { AccountId } from '../model/event';
import { buildApiKey } from '../testing/build-api-key';
import { createActFor } from './act-for';

const ACME = 'acme' as AccountId;
const withoutAdmin = scopes.filter((scope) => scope !== 'admin');

const ERASING = 'erasing' as AccountId;

/** Knows the account `acme`, and one that is being erased; `lookedUp` are the ids that were looked for. */
function create() {
  const lookedUp: string[] = [];
  const actFor = createActFor({
    async find(id) {
      lookedUp.push(id);
      if (id === ERASING) return { id, createdAt: 0, erasingSince: 1 };
      return id === ACME ? { id, createdAt: 0 } : undefined;
    },
  });
  return { actFor, lookedUp };
}

describe('actFor', () => {
  it("makes an operator's key one of the account that it names, with the scopes that it has", async () => {
    const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin', 'webhooks:read'] });
    expect(await create().actFor(record, ACME)).toEqual({ ...record, accountId: ACME });
  });

  it.each([[undefined], ['own']])('leaves a key as it is when %s is asked for', async (account) => {
    const { actFor, lookedUp } = create();
    const { record } = buildApiKey({ accountId: 'own' as AccountId });
    expect(await actFor(record, account)).toBe(record);
    expect(lookedUp).toEqual([]);
  });

  it.each(['nobody', ERASING, '', 'acme,acme', '../acme', 'a'.repeat(65)])(
    'finds no account "%s" for an operator',
    async (account) => {
      const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
      await expect(create().actFor(record, account)).rejects.toMatchObject({ code: 'not_found' });
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
      const { actFor, lookedUp } = create();
      for (const account of [ACME, 'nobody', '']) {
        await expect(actFor(record, account)).rejects.toMatchObject({ code: 'operator_only' });
      }
      expect(lookedUp).toEqual([]);
    },
  );
});

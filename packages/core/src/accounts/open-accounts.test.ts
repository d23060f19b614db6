import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import { fake } from '../testing/fake';
import { OpenAccounts } from './open-accounts';
import type { AccountStanding, AccountStore } from './redis-account-store';

const ACME = 'acme' as AccountId;
const OPEN: AccountStanding = { state: 'open', historyDays: 7 };
const ERASED: AccountStanding = { state: 'erased', erasingSince: 1 };

function openAccountsOf(standing: () => AccountStanding, now: () => number = () => 0) {
  const accountStore = fake<AccountStore>({ findStanding: async () => standing() });
  return new OpenAccounts(accountStore, now);
}

it('remembers for a second that an account is open, and asks each time about one that is not', async () => {
  let now = 0;
  let standing = OPEN as AccountStanding;
  let asked = 0;
  const openAccounts = openAccountsOf(
    () => {
      asked += 1;
      return standing;
    },
    () => now,
  );
  expect(await openAccounts.standingOf(ACME)).toEqual(OPEN);
  standing = ERASED;
  now = 999;
  expect([await openAccounts.standingOf(ACME), asked]).toEqual([OPEN, 1]);
  now = 1_000;
  expect([await openAccounts.standingOf(ACME), asked]).toEqual([ERASED, 2]);
  standing = OPEN;
  expect([await openAccounts.standingOf(ACME), asked]).toEqual([OPEN, 3]);
});

it('takes the account that each service has for open before the first API has made it', async () => {
  const openAccounts = openAccountsOf(() => ({ state: 'unknown' }));
  expect(await openAccounts.standingOf(DEFAULT_ACCOUNT)).toEqual({ state: 'open', historyDays: undefined });
  expect(await openAccounts.standingOf(ACME)).toEqual({ state: 'unknown' });
});

it.each<[AccountStanding, object | undefined]>([
  [OPEN, { historyDays: 7 }],
  [{ state: 'unknown' }, { historyDays: undefined }],
  [ERASED, undefined],
])('moves what has ended of each account but an erased one: %j', async (standing, found) => {
  expect(await openAccountsOf(() => standing).find(ACME)).toEqual(found);
});

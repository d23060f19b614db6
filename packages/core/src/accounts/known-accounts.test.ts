import { uniqueAccountId } from '../testing/unique-ids';
import { KnownAccounts } from './known-accounts';

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

import type { AccountId } from '../domain/account';
import { fake } from '../testing/fake';
import { OpenAccounts } from './open-accounts';
import type { AccountStore } from './redis-account-store';

describe('takes events', () => {
  const ACME = 'acme' as AccountId;

  it('remembers for a second that an account takes events, and asks each time about one that does not', async () => {
    let now = 0;
    let isErased = false;
    let asked = 0;
    const accountStore = fake<AccountStore>({
      async findStanding() {
        asked += 1;
        return { isErased, historyDays: undefined };
      },
    });
    const openAccounts = new OpenAccounts(accountStore, () => now);
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

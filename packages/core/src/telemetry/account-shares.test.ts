import type { AccountId } from '../model/event';
import { signalSamples } from '../testing/signal-samples';
import { uniqueAccountId } from '../testing/unique-ids';
import { AccountShares } from './account-shares';

function arrange() {
  const time = { now: 5_000_000 };
  const shares = new AccountShares(() => time.now);
  const attempt = (accountId: AccountId, count = 1) => {
    for (let i = 0; i < count; i += 1) shares.listen({ ...signalSamples['delivery.attempted'], accountId });
  };
  return { time, shares, attempt };
}

it('says which share of the attempts the largest account had, and the ten largest', () => {
  const { shares, attempt } = arrange();
  attempt(uniqueAccountId(), 60);
  for (let i = 0; i < 40; i += 1) attempt(uniqueAccountId());
  expect(shares.read()).toEqual({ largest: 0.6, tenLargest: 0.69 });
});

it('knows nothing before the first attempt, and forgets what is two minutes ago', () => {
  const { shares, attempt, time } = arrange();
  expect(shares.read()).toBeUndefined();
  attempt(uniqueAccountId());
  time.now += 60_000;
  expect(shares.read()).toEqual({ largest: 1, tenLargest: 1 });
  time.now += 60_000;
  expect(shares.read()).toBeUndefined();
});

it('adds up what it knows of an account over both minutes', () => {
  const { shares, attempt, time } = arrange();
  const account = uniqueAccountId();
  attempt(account, 2);
  time.now += 60_000;
  attempt(account, 1);
  attempt(uniqueAccountId(), 1);
  expect(shares.read()?.largest).toBe(0.75);
});

it('finds the largest among more accounts than it keeps in memory', () => {
  const { shares, attempt } = arrange();
  const large = uniqueAccountId();
  for (let i = 0; i < 3_000; i += 1) {
    attempt(uniqueAccountId());
    attempt(large);
  }
  expect(shares.read()?.largest).toBe(0.5);
});

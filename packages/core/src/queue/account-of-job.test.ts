import { buildReplayOrder } from '../testing/build-replay';
import { accountOfJob } from './account-of-job';

it('tells whose job it is, also of a replay', () => {
  const order = buildReplayOrder();
  expect(accountOfJob({ account_id: 'acme', other: 1 })).toBe('acme');
  expect(accountOfJob(order)).toBe(order.accountId);
});

it.each([undefined, null, 'acme', [], {}, { account_id: 7 }, { account_id: 'a/b' }])(
  'knows nobody whose it could be: %j',
  (data) => {
    expect(accountOfJob(data)).toBeUndefined();
  },
);

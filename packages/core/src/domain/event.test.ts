import { accountIdSchema } from './account';
import { eventIdSchema } from './event';

describe('ids of accounts and events', () => {
  it.each(['a', 'default', 'ACCT_01-x', '0'.repeat(64)])('takes %s for both', (id) => {
    expect(accountIdSchema.safeParse(id).success).toBe(true);
    expect(eventIdSchema.safeParse(id).success).toBe(true);
  });

  // What would break keys and job ids: their separators, hash tags, and white space.
  it.each(['', 'a.b', 'a:b', 'a/b', '{a}', 'a b', 'a\n', 'ä', '0'.repeat(129)])(
    'takes %j for neither',
    (id) => {
      expect(accountIdSchema.safeParse(id).success).toBe(false);
      expect(eventIdSchema.safeParse(id).success).toBe(false);
    },
  );
});

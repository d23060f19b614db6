import { type DeadLetter, deadLetterIdOf, deadLetterIdSchema } from '../model/dead-letter';
import type { AccountId } from '../model/event';
import { presentDeadLetter, presentListedDeadLetter } from './present-dead-letter';

const buildDeadLetter = (change: Partial<DeadLetter> = {}): DeadLetter => ({
  id: deadLetterIdOf('events', '17'),
  queue: 'events',
  jobId: '17',
  name: 'keyword.lost',
  accountId: 'acme' as AccountId,
  reason: 'No luck.',
  failedAt: 1_700_000_000_000,
  attemptsMade: 2,
  dataText: '{"account_id":"acme"}',
  ...change,
});

describe('presentListedDeadLetter', () => {
  it('leaves the data out, but for the account', () => {
    expect(presentListedDeadLetter(buildDeadLetter())).toEqual({
      id: 'events.17',
      queue: 'events',
      name: 'keyword.lost',
      account_id: 'acme',
      reason: 'No luck.',
      failed_at: '2023-11-14T22:13:20.000Z',
      attempts_made: 2,
    });
  });

  it('names no account when the data has none', () => {
    expect(presentListedDeadLetter(buildDeadLetter({ accountId: undefined })).account_id).toBeNull();
  });
});

describe('presentDeadLetter', () => {
  const dataOf = (dataText: string) => JSON.parse(presentDeadLetter(buildDeadLetter({ dataText }))).data;

  it.each([['{"account_id":"acme"}'], ['null'], ['[1]'], ['"text"']])('gives data as it is: %s', (text) => {
    expect(dataOf(text)).toEqual(JSON.parse(text));
  });

  it('gives data that is no JSON as a text', () => {
    expect(dataOf('{"broken')).toBe('{"broken');
    expect(dataOf('')).toBe('');
  });

  it('gives data of any depth', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(presentDeadLetter(buildDeadLetter({ dataText: deep }))).toContain(`"data":${deep}}`);
  });
});

describe('deadLetterIdSchema', () => {
  it.each(['events.17', 'deliveries.evt_1.wh_2~', 'events-dead-letters.7-a/b', 'replays.é'])(
    'takes %s',
    (id) => {
      expect(deadLetterIdSchema.safeParse(id).success).toBe(true);
    },
  );

  it.each(['', 'events', 'events.', 'mail.17', '17', 'events-dead.17', '.events.17', 'gates.17'])(
    'refuses "%s"',
    (id) => {
      expect(deadLetterIdSchema.safeParse(id).success).toBe(false);
    },
  );
});

import { setTimeout as wait } from 'node:timers/promises';
import { type AccountId, accountIdSchema } from '../domain/account';
import { HeavyTurns } from './heavy-turns';

const accounts = ['one', 'two'].map((id) => accountIdSchema.parse(id)) as [AccountId, AccountId];
const [ONE, TWO] = accounts;

/** Takes turns that end when they are told to, and notes which have begun. */
function arrange() {
  const turns = new HeavyTurns();
  const begun: string[] = [];
  const ends = new Map<string, (blockedMs: number) => void>();
  const take = async (accountId: AccountId, name: string) => {
    const end = await turns.take(accountId);
    begun.push(name);
    ends.set(name, end);
  };
  const begins = async (name: string) => {
    while (!ends.has(name)) await new Promise(setImmediate);
    return ends.get(name) as (blockedMs: number) => void;
  };
  return { turns, begun, take, begins };
}

it('lets one at a time do its work, and accounts take turns', async () => {
  const { begun, take, begins } = arrange();
  for (const name of ['1a', '1b', '1c']) void take(ONE, name);
  for (const name of ['2a', '2b']) void take(TWO, name);
  for (const name of ['1a', '1b', '2a', '1c', '2b']) {
    const end = await begins(name);
    expect(begun.at(-1)).toBe(name);
    end(0);
  }
  expect(begun).toHaveLength(5);
});

// Nobody else's timers are as long: Node would let them off together with these.
it.each([53, 307])('leaves as much time for others as the last one kept them waiting: %d ms', async (ms) => {
  const { begun, take, begins } = arrange();
  void take(ONE, 'first');
  void take(ONE, 'second');
  const end = await begins('first');
  // Timers go off in the order of their ends, however late all of them are.
  const notLongBefore = wait(ms - 1);
  end(ms);
  await notLongBefore;
  expect(begun).toEqual(['first']);
  await begins('second');
});

it('leaves no more than a moment, however long the process stood still', async () => {
  const { begun, take, begins } = arrange();
  void take(ONE, 'first');
  void take(ONE, 'second');
  (await begins('first'))(3_600_000);
  await begins('second');
  expect(begun).toEqual(['first', 'second']);
});

it('takes an end that is told twice for one', async () => {
  const { begun, take, begins } = arrange();
  for (const name of ['a', 'b', 'c']) void take(ONE, name);
  const end = await begins('a');
  end(0);
  end(0);
  await begins('b');
  for (let i = 0; i < 10; i += 1) await new Promise(setImmediate);
  expect(begun).toEqual(['a', 'b']);
});

it('refuses more than so many of an account, and takes those of others', async () => {
  const { turns, take, begins } = arrange();
  void take(ONE, 'first');
  await begins('first');
  for (let i = 0; i < 32; i += 1) void take(ONE, `waiting ${i}`);
  await expect(turns.take(ONE)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 1_000 });
  void take(TWO, 'another');
  (await begins('first'))(0);
  (await begins('waiting 0'))(0);
  await begins('another');
});

it('does a piece of work in a turn of its own, which ends when it fails', async () => {
  const { turns } = arrange();
  const work = turns.run(ONE, () => Promise.reject(new Error('no luck')));
  await expect(work).rejects.toThrow('no luck');
  expect(await turns.run(ONE, async () => 'done')).toBe('done');
});

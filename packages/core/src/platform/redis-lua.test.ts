import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import { type EveryTypeInput, everyType } from '../testing/every-type.script';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { atomicAsOne } from './redis-atomic';
import type { Step } from './redis-script';

describe('a script that is a file of its own', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterAll(() => redis.close());

  function inputWith(changes: Partial<EveryTypeInput> = {}): EveryTypeInput {
    return {
      account: 'acct_1' as AccountId,
      own: `own:{${uniqueEndpointId()}}`,
      event: uniqueEventId(),
      endpoint: uniqueEndpointId(),
      fails: false,
      stops: false,
      text: 'naïve "text"',
      count: -1.5e12,
      large: 1_795_000_000_123,
      choice: 'two',
      rows: [
        { name: 'first', at: 1 },
        { name: 'second', at: 1_795_000_000_124 },
      ],
      names: [],
      ...changes,
    };
  }

  /** Both ways to run it: by itself, and with what else is asked in a turn. */
  const ways: readonly [string, (step: Step) => Promise<unknown>][] = [
    ['alone', (step) => step(redis.client)],
    ['in a turn', async (step) => (await atomicAsOne(redis.client)([step]))[0]],
  ];

  it.each(ways)('gets and gives each type, %s', async (_way, run) => {
    const input = inputWith();
    expect(await run(everyType(input))).toEqual({
      text: 'naïve "text"',
      count: -1.5e12,
      large: '1795000000123',
      choice: 'two',
      isThere: false,
      maybe: undefined,
      rows: [
        { name: 'first', isEven: false, body: 'naïve "text"' },
        { name: 'second', isEven: true, body: undefined },
      ],
      names: [],
      constants: '1048576 delivered exhausted aborted cancelled superseded',
      key: keys.delivery(input.endpoint as never, input.event),
      order: keys.order(input.endpoint as never),
    });
  });

  it('gives no member if it stops', async () => {
    const input = inputWith({ stops: true });
    expect(await everyType(input)(redis.client)).toBeUndefined();
    expect(await redis.client.exists(input.own)).toBe(0);
  });

  it.each(ways)('has the file in the error of a command, %s', async (_way, run) => {
    const failing = run(everyType(inputWith({ fails: true })));
    await expect(failing).rejects.toThrow(/^WRONGTYPE .*testing\/every-type\.lua/);
  });

  it.each(ways)('has the file and the line in an error of Lua, %s', async (_way, run) => {
    const failing = run(everyType(inputWith({ rows: [{ name: 'none', at: 'x' as never }] })));
    await expect(failing).rejects.toThrow(/testing\/is-even\.lua:4: attempt to perform arithmetic/);
  });
});

import { type RedisServer, startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { defineScript, ScriptBatch } from './redis-script';

// Of its own: what others have on it would be forgotten, too.
let server: RedisServer;
let redis: TestRedis;
beforeAll(async () => {
  server = await startRedisServer();
  redis = await openTestRedis(server.url);
});
afterAll(async () => {
  await redis.close();
  await server.close();
});

/** A script that no server knows yet, and the commands that it is run by. */
function arrange(text: string) {
  const run = defineScript(`-- ${uniqueEndpointId()}\n${text}`);
  const { client } = redis;
  const commands: string[] = [];
  const noted = new Proxy(client, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (name !== 'eval' && name !== 'evalsha') return member;
      return (...args: unknown[]) => {
        commands.push(name);
        return Reflect.apply(member, target, args);
      };
    },
  });
  return {
    commands,
    run: (keys: readonly string[], args: readonly (string | number)[]) => run(noted, keys, args),
  };
}

it('gives what the script gives, with its keys and arguments, numbers as texts', async () => {
  const { run } = arrange('return {KEYS[1], KEYS[2], ARGV[1], ARGV[2], type(ARGV[2])}');
  expect(await run(['one', 'two'], ['text', 1.5])).toEqual(['one', 'two', 'text', '1.5', 'string']);
});

it('sends its text once, and is called by its digest from then on', async () => {
  const { run, commands } = arrange('return ARGV[1]');
  expect(await run([], ['a'])).toBe('a');
  expect(await run([], ['b'])).toBe('b');
  expect(await run([], ['c'])).toBe('c');
  expect(commands).toEqual(['evalsha', 'eval', 'evalsha', 'evalsha']);
});

it('runs also on a server that has forgotten it, after a restart or a fail-over, once', async () => {
  const { run } = arrange(`return redis.call('INCR', KEYS[1])`);
  const key = uniqueEndpointId();
  expect(await run([key], [])).toBe(1);
  await redis.client.script('FLUSH');
  expect(await run([key], [])).toBe(2);
  expect(await run([key], [])).toBe(3);
});

it('does not run again that went wrong', async () => {
  const { run, commands } = arrange(`redis.call('INCR', KEYS[1]) return redis.error_reply('OOM no')`);
  const key = uniqueEndpointId();
  await expect(run([key], [])).rejects.toThrow('OOM no');
  await expect(run([key], [])).rejects.toThrow('OOM no');
  expect(await redis.client.get(key)).toBe('2');
  expect(commands).toEqual(['evalsha', 'eval', 'evalsha']);
});

describe('a batch', () => {
  const REPLY = defineScript('return {KEYS[1], ARGV[1], #KEYS, #ARGV}');
  const NOTHING = defineScript('return nil');

  it('gives each call its own keys, arguments and reply, in the order of the calls', async () => {
    const batch = new ScriptBatch();
    const replies = Promise.all([
      REPLY(batch, ['a'], ['one', 2]),
      NOTHING(batch, ['unused'], []),
      REPLY(batch, ['b', 'c'], ['three']),
    ]);
    await batch.sendTo(redis.client);
    expect(await replies).toEqual([['a', 'one', 1, 2], null, ['b', 'three', 2, 1]]);
  });

  it('fails all its calls with what one of them answers as an error', async () => {
    const batch = new ScriptBatch();
    const refuse = defineScript(`return redis.error_reply('NO such thing')`);
    const outcomes = Promise.allSettled([REPLY(batch, [], ['a']), refuse(batch, [], [])]);
    await batch.sendTo(redis.client);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'NO such thing' } });
    }
  });

  it('refuses a call that comes after it was sent, rather than to forget it', async () => {
    const batch = new ScriptBatch();
    await batch.sendTo(redis.client);
    await expect(REPLY(batch, [], [])).rejects.toThrow('after its batch was sent');
  });
});

import { type RedisServer, startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { runAlone } from './redis-script';
import { defineLua, type Packed } from './redis-script-text';

describe('redis script', () => {
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
    const body = `-- ${uniqueEndpointId()}\n${text}`;
    const script = defineLua({ file: 'of-a-test', line: 1, body, libraries: [], isGuard: false });
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
      run: (keys: readonly string[], args: readonly Packed[]) => runAlone(noted, { script, keys, args }),
    };
  }

  it('gives what the script gives, with its keys and arguments, each of its type', async () => {
    const { run } = arrange('return {KEYS[1], KEYS[2], ARGV[1], tostring(ARGV[2]), type(ARGV[2])}');
    expect(await run(['one', 'two'], ['text', 1.5])).toEqual(['one', 'two', 'text', '1.5', 'number']);
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

  it('runs also with more arguments than Lua unpacks at once', async () => {
    const { run } = arrange('return {#ARGV, ARGV[1], ARGV[#ARGV]}');
    const args = Array.from({ length: 9_000 }, (_none, i) => i);
    expect(await run([], args)).toEqual([9_000, 0, 8_999]);
  });
});

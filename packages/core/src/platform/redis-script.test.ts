import { once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { type RedisServer, startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { type Atomic, atomicAsOne, atomicOneByOne, createAtomic } from './redis-atomic';
import { defineGuard, defineScript, ScriptUnit, type Step } from './redis-script';

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
});

describe('redis in order', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const NAMES = ['first', 'second', 'third', 'fourth'];
  const BYTES = 300;

  const SET = defineScript(`return redis.call('SET', KEYS[1], ARGV[1])`);
  const steps = NAMES.map(
    (name): Step =>
      (target) =>
        SET(target, [name], ['x'.repeat(BYTES)]),
  );

  async function countDone(client: Redis): Promise<number> {
    const done = await Promise.all(NAMES.map((name) => client.exists(name)));
    // None unless all before it.
    expect(done).toEqual(done.toSorted((a, b) => b - a));
    return done.filter((one) => one === 1).length;
  }

  describe('on one server', () => {
    it('takes effect as a whole or not at all, wherever a connection breaks', async () => {
      const { url, client } = willClose(await openTestRedis());
      const proxy = willClose(await startRedisProxy(url));
      const seen = new Set<number>();
      await createAtomic(client)(steps);
      for (let bytes = 1; bytes < 1_800; bytes += 60) {
        const redis = new Redis(proxy.url, {
          maxRetriesPerRequest: 0,
          retryStrategy: () => null,
        });
        redis.on('error', () => {});
        willClose({ close: () => redis.disconnect() });
        await once(redis, 'ready');
        await client.flushdb();
        proxy.cutAfter(bytes);
        await createAtomic(redis)(steps).catch(() => {});
        proxy.cutAfter(Number.POSITIVE_INFINITY);
        // What had been sent may still be on its way.
        await client.ping();
        seen.add(await countDone(client));
      }
      expect([...seen].toSorted()).toEqual([0, NAMES.length]);
    });

    it('takes effect as a whole or not at all, wherever Redis runs out of memory', async () => {
      const server = willClose(await startRedisServer());
      const { client } = willClose(await openTestRedis(server.url));
      const seen = new Set<number>();
      await createAtomic(client)(steps);
      for (let left = 0; left < 20_000; left += 200) {
        await client.flushdb();
        await server.fillUp(left);
        await createAtomic(client)(steps).catch(() => {});
        await server.makeRoom();
        seen.add(await countDone(client));
      }
      expect([...seen].toSorted()).toEqual([0, NAMES.length]);
    });

    it('is complete on a server that has forgotten its scripts, as after a restart', async () => {
      const server = willClose(await startRedisServer());
      const { client } = willClose(await openTestRedis(server.url));
      await createAtomic(client)(steps);
      await client.flushdb();
      await client.script('FLUSH');
      await createAtomic(client)(steps);
      expect(await countDone(client)).toBe(NAMES.length);
    });

    it('is one command', async () => {
      const { client } = willClose(await openTestRedis());
      await createAtomic(client)(steps);
      const sent: string[] = [];
      const { sendCommand } = client;
      client.sendCommand = function noteCommand(command, ...rest) {
        sent.push(command.name);
        return sendCommand.call(client, command, ...rest);
      };
      await createAtomic(client)(steps);
      expect(sent).toEqual(['evalsha']);
    });

    it('does not go on behind a step that Redis refuses', async () => {
      const { client } = willClose(await openTestRedis());
      await client.sadd('second', 'not a text');
      const append = defineScript(`return redis.call('APPEND', KEYS[1], ARGV[1])`);
      const appending = NAMES.map(
        (name): Step =>
          (target) =>
            append(target, [name], ['x']),
      );
      await expect(createAtomic(client)(appending)).rejects.toThrow('WRONGTYPE');
      expect(await Promise.all(NAMES.map((name) => client.exists(name)))).toEqual([1, 1, 0, 0]);
    });
  });

  /** Notes the commands that this client sends: the server's own counts are of all tests. */
  async function arrangeSent() {
    const { client } = willClose(await openTestRedis());
    const sent: string[] = [];
    const { sendCommand } = client;
    client.sendCommand = function noteCommand(command, ...rest) {
      sent.push(command.name);
      return sendCommand.call(client, command, ...rest);
    };
    return { client, sent, atomic: createAtomic(client) };
  }

  describe('a turn of the event loop', () => {
    const REPLY = defineScript('return {KEYS[1], ARGV[1], #KEYS, #ARGV}');
    const NOTHING = defineScript('return nil');
    const ADD = defineScript(`return redis.call('SADD', KEYS[1], ARGV[1])`);
    const APPEND = defineScript(`return redis.call('APPEND', KEYS[1], ARGV[1])`);

    it('is one command for all callers, and gives each call its own keys, arguments and reply', async () => {
      const { atomic, sent } = await arrangeSent();
      const replies: unknown[] = [];
      const note = (reply: Promise<unknown>) => reply.then((one) => replies.push(one));
      const units = [
        [
          (target) => note(REPLY(target, ['a'], ['one', 2])),
          (target) => note(NOTHING(target, ['unused'], [])),
        ],
        [(target) => note(REPLY(target, ['b', 'c'], ['three']))],
      ] satisfies Step[][];
      for (let round = 0; round < 2; round += 1) {
        sent.length = 0;
        replies.length = 0;
        expect(await Promise.all(units.map(atomic))).toEqual([true, true]);
        expect(replies).toEqual([['a', 'one', 1, 2], null, ['b', 'three', 2, 1]]);
      }
      expect(sent).toEqual(['evalsha']);
    });

    it('gives a text once that several calls share', async () => {
      const { client, atomic, sent } = await arrangeSent();
      await client.mset('long', 'x'.repeat(9), 'other', 'y');
      const read = defineScript(`return shared(redis.call('GET', KEYS[1]))`);
      const found: unknown[] = [];
      const texts = new Set<unknown>();
      const step =
        (key: string): Step =>
        async (target) => {
          const number = Number(await read(target, [key], []));
          if (!(target instanceof ScriptUnit)) throw new Error('It went there by itself.');
          texts.add(target.texts);
          found.push(target.texts[number - 1]);
        };
      await Promise.all(['long', 'other', 'long'].map((key) => atomic([step(key)])));
      expect(found).toEqual(['x'.repeat(9), 'y', 'x'.repeat(9)]);
      expect([...texts]).toEqual([['x'.repeat(9), 'y']]);
      expect(sent.filter((name) => name === 'evalsha')).toHaveLength(1);
    });

    it('leaves the others alone when one fails because of the data that it finds', async () => {
      const { client, atomic } = await arrangeSent();
      await client.set('text', 'x');
      const outcomes = await Promise.allSettled([
        atomic([(target) => APPEND(target, ['first'], ['1'])]),
        atomic([
          (target) => ADD(target, ['text'], ['member']),
          (target) => APPEND(target, ['never'], ['much', 'more']),
        ]),
        atomic([(target) => APPEND(target, ['last'], ['22'])]),
      ]);
      expect(outcomes).toMatchObject([
        { status: 'fulfilled' },
        { status: 'rejected', reason: { message: expect.stringMatching(/^WRONGTYPE/) } },
        { status: 'fulfilled' },
      ]);
      expect(await client.mget('first', 'never', 'last')).toEqual(['1', null, '22']);
    });

    it('gives the replies of the calls before one that fails: they have taken effect', async () => {
      const { client, atomic } = await arrangeSent();
      await client.set('text', 'x');
      const appended: unknown[] = [];
      const unit = atomic([
        async (target) => appended.push(await APPEND(target, ['first'], ['1'])),
        (target) => ADD(target, ['text'], ['member']),
        async (target) => appended.push(await APPEND(target, ['never'], ['2'])),
      ]);
      await expect(unit).rejects.toThrow('WRONGTYPE');
      expect(appended).toEqual([1]);
      expect(await client.mget('first', 'never')).toEqual(['1', null]);
    });

    // The first step's error says what became of the unit, and may say it later than the others theirs.
    it("fails with the first step's error when Redis refuses all", async () => {
      const server = willClose(await startRedisServer());
      const { client } = willClose(await openTestRedis(server.url));
      await server.fillUp(0);
      const unit = createAtomic(client)([
        async (target) => {
          await APPEND(target, ['a'], ['x'.repeat(9_000)]).catch(async () => {
            for (let i = 0; i < 9; i += 1) await Promise.resolve();
            throw new Error("The first one's.");
          });
        },
        (target) => APPEND(target, ['b'], ['x']),
      ]);
      await expect(unit).rejects.toThrow("The first one's.");
    });

    it('fails as a whole when Redis refuses to write', async () => {
      const server = willClose(await startRedisServer());
      const { client } = willClose(await openTestRedis(server.url));
      await server.fillUp(0);
      const atomic = createAtomic(client);
      const append = (key: string) => atomic([(target) => APPEND(target, [key], ['x'.repeat(9_000)])]);
      for (const outcome of await Promise.allSettled(['a', 'b'].map(append))) {
        expect(outcome).toMatchObject({ reason: { message: expect.stringMatching(/^OOM/) } });
      }
    });

    it('fails as a whole, and in the same words, when Redis 6.2 refuses to write', async () => {
      const { client } = willClose(await openTestRedis());
      const refused = defineScript(
        `error('@user_script: 26: -NOREPLICAS Not enough good replicas to write.', 0)`,
      );
      const run = createAtomic(client)([(target) => refused(target, ['a'], [])]);
      await expect(run).rejects.toThrow(/^NOREPLICAS Not enough/);
    });

    it('sends what is too much for one script in several, and loses nothing', async () => {
      const { client, atomic, sent } = await arrangeSent();
      const members = Array.from({ length: 900 }, (_none, i) => `member ${i}`);
      await Promise.all(
        members.map((member) =>
          atomic([
            (target) => ADD(target, ['set'], [member]),
            (target) => REPLY(target, ['key'], ['a', 'b', 'c']),
          ]),
        ),
      );
      expect(await client.scard('set')).toBe(members.length);
      expect(sent.filter((name) => name === 'evalsha').length).toBeGreaterThan(1);
    });

    it('passes on texts of all lengths and characters as they are', async () => {
      const { client, atomic } = await arrangeSent();
      const texts = ['', '"\\\0\r\n', 'é€😀', 'x'.repeat(31), '€'.repeat(70_000), 'x'.repeat(300_000)];
      for (const some of [texts, texts.toReversed()]) {
        await client.del('texts');
        const push = defineScript(`return redis.call('RPUSH', KEYS[1], unpack(ARGV))`);
        await atomic([(target) => push(target, ['texts'], some)]);
        expect(await client.lrange('texts', 0, -1)).toEqual(some);
      }
    });

    it('runs also with more arguments than Lua unpacks at once', async () => {
      const { atomic } = await arrangeSent();
      const count = defineScript('return {#ARGV, ARGV[1], ARGV[#ARGV]}');
      const args = Array.from({ length: 9_000 }, (_none, i) => i);
      let reply: unknown;
      await atomic([(target) => count(target, [], args).then((one) => (reply = one))]);
      expect(reply).toEqual([9_000, '0', '8999']);
    });
  });

  describe.each([
    ['as one', atomicAsOne],
    ['one by one', atomicOneByOne],
  ])('a guard, %s', (_how, open: (redis: Redis) => Atomic) => {
    const IS_EQUAL = defineGuard(`
      local found = redis.call('GET', KEYS[1])
      if found ~= ARGV[1] then return {0, found} end
      return {1}`);
    const IS_THERE = defineGuard(`return redis.call('EXISTS', KEYS[1])`);
    const SET_IT = defineScript(`return redis.call('SET', KEYS[1], ARGV[1])`);

    it('keeps the steps after it from running, and those of nobody else', async () => {
      const { client } = willClose(await openTestRedis());
      const atomic = open(client);
      await client.set('version', '2');
      const replies: unknown[] = [];
      const publish = (version: string, name: string) =>
        atomic([
          (target) => IS_EQUAL(target, ['version'], [version]).then((reply) => replies.push(reply)),
          (target) => SET_IT(target, [name], ['x']),
          (target) => SET_IT(target, [`${name} listed`], ['x']),
        ]);
      expect(await Promise.all([publish('1', 'old'), publish('2', 'new')])).toEqual([false, true]);
      expect(replies).toEqual(expect.arrayContaining([[0, '2'], [1]]));
      expect(await client.mget('old', 'old listed', 'new', 'new listed')).toEqual([null, null, 'x', 'x']);
    });

    it('may come between the steps: what was before it has taken effect', async () => {
      const { client } = willClose(await openTestRedis());
      const isWhole = await open(client)([
        (target) => SET_IT(target, ['before'], ['x']),
        (target) => IS_THERE(target, ['nothing'], []),
        (target) => SET_IT(target, ['after'], ['x']),
      ]);
      expect(isWhole).toBe(false);
      expect(await client.mget('before', 'after')).toEqual(['x', null]);
    });
  });

  describe('patience', () => {
    const NOTE = defineScript(`return redis.call('RPUSH', KEYS[1], ARGV[1])`);
    const noted =
      (name: string): Step =>
      (target) =>
        NOTE(target, ['noted'], [name]);
    const MINUTE_MS = 60_000;

    async function arrangeNotes() {
      const { client, atomic, sent } = await arrangeSent();
      return { atomic, sent, notes: () => client.lrange('noted', 0, -1) };
    }

    it('keeps steps until there are others, and they go to Redis as one', async () => {
      const { atomic, notes, sent } = await arrangeNotes();
      const patient = atomic([noted('patient')], MINUTE_MS);
      await immediate();
      expect(await notes()).toEqual([]);
      sent.length = 0;
      expect(await Promise.all([patient, atomic([noted('urgent')])])).toEqual([true, true]);
      expect(sent.filter((name) => name === 'evalsha')).toHaveLength(1);
      expect(await notes()).toEqual(['patient', 'urgent']);
    });

    it('ends', async () => {
      const { atomic, notes } = await arrangeNotes();
      await atomic([noted('patient')], 1);
      expect(await notes()).toEqual(['patient']);
    });

    it('ends at once when somebody without patience has nothing to do', async () => {
      const { atomic, notes } = await arrangeNotes();
      const patient = atomic([noted('patient')], MINUTE_MS);
      await atomic([]);
      await patient;
      expect(await notes()).toEqual(['patient']);
    });

    it('is needed once: what comes afterwards waits for its own time', async () => {
      const { atomic, notes } = await arrangeNotes();
      await Promise.all([atomic([noted('first')], MINUTE_MS), atomic([noted('urgent')])]);
      const second = atomic([noted('second')], MINUTE_MS);
      await immediate();
      expect(await notes()).toEqual(['first', 'urgent']);
      await Promise.all([atomic([]), second]);
      expect(await notes()).toEqual(['first', 'urgent', 'second']);
    });
  });

  it('waits for each step in a Cluster, whose nodes know nothing of each other', async () => {
    const { client } = willClose(await openTestRedis());
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const order: string[] = [];
    const step = (name: string) => async () => {
      order.push(`${name} begun`);
      await new Promise(setImmediate);
      order.push(`${name} done`);
    };
    await createAtomic(cluster)([step('a'), step('b')]);
    expect(order).toEqual(['a begun', 'a done', 'b begun', 'b done']);
    await atomicOneByOne(client)(steps);
    expect(await countDone(client)).toBe(NAMES.length);
  });

  it.each([
    ['as one', atomicAsOne],
    ['one by one', atomicOneByOne],
  ])('fails with the step that fails, %s', async (_how, atomic) => {
    const { client } = willClose(await openTestRedis());
    const failing = async () => {
      throw new Error('refused');
    };
    await expect(atomic(client)([async () => {}, failing])).rejects.toThrow('refused');
  });
});

import { once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import {
  addText,
  appendText,
  isThere,
  pushTexts,
  refuse,
  setText,
  shareText,
  textIs,
} from '../testing/texts.script';
import { type Atomic, atomicAsOne, atomicOneByOne, createAtomic, mapReply } from './redis-atomic';
import { defineLua, type Guard, stepOf } from './redis-lua';
import type { Step } from './redis-script';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const NAMES = ['first', 'second', 'third', 'fourth'];
const BYTES = 300;
const setAll = NAMES.map((thing) => setText({ thing, text: 'x'.repeat(BYTES) }));

async function countDone(client: Redis): Promise<number> {
  const done = await Promise.all(NAMES.map((name) => client.exists(name)));
  // None unless all before it.
  expect(done).toEqual(done.toSorted((a, b) => b - a));
  return done.filter((one) => one === 1).length;
}

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

describe('on one server', () => {
  it('takes effect as a whole or not at all, wherever a connection breaks', async () => {
    const { url, client } = willClose(await openTestRedis());
    const proxy = willClose(await startRedisProxy(url));
    const seen = new Set<number>();
    await createAtomic(client)(setAll);
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
      await createAtomic(redis)(setAll).catch(() => {});
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
    await createAtomic(client)(setAll);
    for (let left = 0; left < 20_000; left += 200) {
      await client.flushdb();
      await server.fillUp(left);
      await createAtomic(client)(setAll).catch(() => {});
      await server.makeRoom();
      seen.add(await countDone(client));
    }
    expect([...seen].toSorted()).toEqual([0, NAMES.length]);
  });

  it('is complete on a server that has forgotten its scripts, as after a restart', async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    await createAtomic(client)(setAll);
    await client.flushdb();
    await client.script('FLUSH');
    await createAtomic(client)(setAll);
    expect(await countDone(client)).toBe(NAMES.length);
  });

  it('is one command', async () => {
    const { client, sent } = await arrangeSent();
    await createAtomic(client)(setAll);
    sent.length = 0;
    await createAtomic(client)(setAll);
    expect(sent).toEqual(['evalsha']);
  });

  it('does not go on behind a step that Redis refuses', async () => {
    const { client } = willClose(await openTestRedis());
    await client.sadd('second', 'not a text');
    const appending = NAMES.map((thing) => appendText({ thing, text: 'x' }));
    await expect(createAtomic(client)(appending)).rejects.toThrow('WRONGTYPE');
    expect(await Promise.all(NAMES.map((name) => client.exists(name)))).toEqual([1, 1, 0, 0]);
  });
});

describe('a turn of the event loop', () => {
  it('is one command for all callers, and gives each call its own keys, arguments and reply', async () => {
    const { client, atomic, sent } = await arrangeSent();
    for (let round = 0; round < 2; round += 1) {
      await client.flushdb();
      sent.length = 0;
      const results = await Promise.all([
        atomic([appendText({ thing: 'a', text: 'one' }), setText({ thing: 'unused', text: '' })]),
        atomic([pushTexts({ list: 'b', texts: ['three', 'four'] })]),
      ]);
      expect(results).toEqual([[3, undefined], [2]]);
      expect(await client.get('a')).toBe('one');
      expect(await client.lrange('b', 0, -1)).toEqual(['three', 'four']);
    }
    expect(sent.filter((name) => name.startsWith('eval'))).toEqual(['evalsha']);
  });

  it('gives a text once that several calls share', async () => {
    const { client, atomic, sent } = await arrangeSent();
    await client.mset('long', 'x'.repeat(9), 'other', 'y');
    const things = ['long', 'other', 'long'];
    const found = await Promise.all(things.map((thing) => atomic([shareText({ thing })])));
    expect(found).toEqual([['x'.repeat(9)], ['y'], ['x'.repeat(9)]]);
    expect(sent.filter((name) => name === 'evalsha')).toHaveLength(1);

    const body = `return shared(redis.call('GET', KEYS[1]))`;
    const script = defineLua({ file: 'of-a-test', line: 1, body, libraries: [], isGuard: false });
    const replies = await Promise.all(
      things.map((thing) =>
        atomic([stepOf(script, [thing], [], (reply: unknown, texts) => ({ reply, texts }))]),
      ),
    );
    expect(replies.flat().map(({ reply }) => reply)).toEqual([1, 2, 1]);
    expect([...new Set(replies.flat().map(({ texts }) => texts))]).toEqual([['x'.repeat(9), 'y']]);
  });

  it('leaves the others alone when one fails because of the data that it finds', async () => {
    const { client, atomic } = await arrangeSent();
    await client.set('text', 'x');
    const outcomes = await Promise.allSettled([
      atomic([appendText({ thing: 'first', text: '1' })]),
      atomic([addText({ set: 'text', text: 'member' }), appendText({ thing: 'never', text: 'much' })]),
      atomic([appendText({ thing: 'last', text: '22' })]),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { message: expect.stringMatching(/^WRONGTYPE/) } },
      { status: 'fulfilled' },
    ]);
    expect(await client.mget('first', 'never', 'last')).toEqual(['1', null, '22']);
  });

  // The first step's error says what became of the unit, and may say it later than the others theirs.
  it("fails with the first step's error when Redis refuses all", async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    await server.fillUp(0);
    const unit = createAtomic(client)([
      async (target) => {
        await appendText({ thing: 'a', text: 'x'.repeat(9_000) })(target).catch(async () => {
          for (let i = 0; i < 9; i += 1) await Promise.resolve();
          throw new Error("The first one's.");
        });
      },
      appendText({ thing: 'b', text: 'x' }),
    ]);
    await expect(unit).rejects.toThrow("The first one's.");
  });

  it('fails as a whole when Redis refuses to write', async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    await server.fillUp(0);
    const atomic = createAtomic(client);
    const append = (thing: string) => atomic([appendText({ thing, text: 'x'.repeat(9_000) })]);
    for (const outcome of await Promise.allSettled(['a', 'b'].map(append))) {
      expect(outcome).toMatchObject({ reason: { message: expect.stringMatching(/^OOM/) } });
    }
  });

  it('fails as a whole, and in the same words, when Redis 6.2 refuses to write', async () => {
    const { client } = willClose(await openTestRedis());
    const run = createAtomic(client)([refuse({ thing: 'a' })]);
    await expect(run).rejects.toThrow(/^NOREPLICAS Not enough/);
  });

  it('sends what is too much for one script in several, and loses nothing', async () => {
    const { client, atomic, sent } = await arrangeSent();
    const members = Array.from({ length: 900 }, (_none, i) => `member ${i}`);
    await Promise.all(
      members.map((text) => atomic([addText({ set: 'set', text }), setText({ thing: 'last', text })])),
    );
    expect(await client.scard('set')).toBe(members.length);
    expect(sent.filter((name) => name === 'evalsha').length).toBeGreaterThan(1);
  });

  it('counts what a list has, too', async () => {
    const { client, atomic, sent } = await arrangeSent();
    const texts = Array.from({ length: 1_200 }, (_none, i) => `member ${i}`);
    await atomic([setText({ thing: 'known', text: 'x' }), pushTexts({ list: 'known list', texts: ['x'] })]);
    sent.length = 0;
    await Promise.all(['a', 'b'].map((list) => atomic([pushTexts({ list, texts })])));
    expect(await Promise.all([client.llen('a'), client.llen('b')])).toEqual([1_200, 1_200]);
    expect(sent.filter((name) => name === 'evalsha')).toHaveLength(2);
  });

  it('passes on texts of all lengths and characters as they are', async () => {
    const { client, atomic } = await arrangeSent();
    const texts = ['', '"\\\0\r\n', 'é€😀', 'x'.repeat(31), '€'.repeat(70_000), 'x'.repeat(300_000)];
    for (const some of [texts, texts.toReversed()]) {
      await client.del('texts');
      await atomic([pushTexts({ list: 'texts', texts: some })]);
      expect(await client.lrange('texts', 0, -1)).toEqual(some);
    }
  });

  it('refuses a script that a step calls after it has waited', async () => {
    const { client, atomic } = await arrangeSent();
    const late: Step = async (target) => {
      await immediate();
      return await setText({ thing: 'late', text: 'x' })(target);
    };
    await expect(atomic([late])).rejects.toThrow('after its unit was sent');
    expect(await client.exists('late')).toBe(0);
  });
});

describe('patience', () => {
  const noted = (text: string) => pushTexts({ list: 'noted', texts: [text] });
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
    expect(await Promise.all([patient, atomic([noted('urgent')])])).toEqual([[1], [2]]);
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

describe.each([
  ['as one', atomicAsOne],
  ['one by one', atomicOneByOne],
])('steps, %s', (_how, open: (redis: Redis) => Atomic) => {
  async function arrange() {
    const { client } = willClose(await openTestRedis());
    return { client, atomic: open(client) };
  }

  it('give what each of them gives, in their order', async () => {
    const { client, atomic } = await arrange();
    await client.set('known', 'x');
    const [length, nothing, isKnown, count] = await atomic([
      appendText({ thing: 'text', text: 'four' }),
      setText({ thing: 'other', text: 'x' }),
      isThere({ thing: 'known' }),
      pushTexts({ list: 'list', texts: ['a', 'b'] }),
    ]);
    expect({ length, nothing, isKnown, count }).toEqual({
      length: 4,
      nothing: undefined,
      isKnown: true,
      count: 2,
    });
    expect(await atomic([])).toEqual([]);
  });

  it('fail with the step that fails', async () => {
    const { atomic } = await arrange();
    const failing = async () => {
      throw new Error('refused');
    };
    await expect(atomic([async () => {}, failing])).rejects.toThrow('refused');
  });

  it('that were tried give the results of those before the one that failed: they have taken effect', async () => {
    const { client, atomic } = await arrange();
    await client.set('text', 'x');
    const { results, error } = await atomic.tried([
      appendText({ thing: 'first', text: '1' }),
      addText({ set: 'text', text: 'member' }),
      appendText({ thing: 'never', text: '2' }),
    ]);
    expect(results).toEqual([1]);
    expect(error).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE/) });
    expect(await client.mget('first', 'never')).toEqual(['1', null]);
  });

  it('that were tried and went well have no error, also if a guard stopped them', async () => {
    const { client, atomic } = await arrange();
    const add = appendText({ thing: 'text', text: '1' });
    expect(await atomic.tried([add, add])).toEqual({ results: [1, 2], error: undefined });
    const stopped = await atomic.tried([isThere({ thing: 'nothing' }), add]);
    expect(stopped).toEqual({ results: [false], error: undefined });
    expect(await client.get('text')).toBe('11');
  });

  describe('and a guard', () => {
    it('that stops keeps the steps after it from running, and those of nobody else', async () => {
      const { client, atomic } = await arrange();
      await client.set('version', '2');
      const publish = (version: string, name: string) =>
        atomic([
          textIs({ thing: 'version', text: version }),
          appendText({ thing: name, text: 'x' }),
          appendText({ thing: `${name} listed`, text: 'xx' }),
        ]);
      const [old, current] = await Promise.all([publish('1', 'old'), publish('2', 'new')]);
      expect(old).toEqual([{ found: '2' }]);
      expect(current).toEqual([{ found: '2' }, 1, 2]);
      // By the types, too.
      const [found, length, lengthOfList]: [unknown, number | undefined, number | undefined] = old;
      expect({ found, length, lengthOfList }).toEqual({ found: { found: '2' } });
      expect(await client.mget('old', 'old listed', 'new', 'new listed')).toEqual([null, null, 'x', 'xx']);
    });

    it('may come between the steps: what was before it has taken effect', async () => {
      const { client, atomic } = await arrange();
      const results = await atomic([
        setText({ thing: 'before', text: 'x' }),
        isThere({ thing: 'nothing' }),
        setText({ thing: 'after', text: 'x' }),
      ]);
      expect(results).toEqual([undefined, false]);
      expect(await client.mget('before', 'after')).toEqual(['x', null]);
    });
  });

  describe('whose replies are made into something else', () => {
    it('give that', async () => {
      const { atomic } = await arrange();
      const [length] = await atomic([
        mapReply(appendText({ thing: 'text', text: 'four' }), (many) => `${many} bytes`),
      ]);
      expect(length).toBe('4 bytes');
    });

    it('are guards if they were', async () => {
      const { client, atomic } = await arrange();
      await client.set('version', '2');
      const hasVersion = (text: string): Guard<string> =>
        mapReply(textIs({ thing: 'version', text }), (reply) => `it is ${reply?.found}`);
      const add = appendText({ thing: 'text', text: 'x' });
      expect(await atomic([hasVersion('1'), add])).toEqual(['it is 2']);
      expect(await atomic([hasVersion('2'), add])).toEqual(['it is 2', 1]);
    });

    it('fail as they did, and if no reply can be made of it', async () => {
      const { client, atomic } = await arrange();
      await client.sadd('set', 'x');
      const wrong = mapReply(appendText({ thing: 'set', text: 'x' }), String);
      await expect(atomic([wrong])).rejects.toThrow('WRONGTYPE');
      const unreadable = mapReply(appendText({ thing: 'text', text: 'x' }), () => {
        throw new Error('unreadable');
      });
      const { results, error } = await atomic.tried([appendText({ thing: 'text', text: 'y' }), unreadable]);
      expect(results).toEqual([1]);
      expect(error).toMatchObject({ message: 'unreadable' });
    });
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
  await atomicOneByOne(client)(setAll);
  expect(await countDone(client)).toBe(NAMES.length);
});

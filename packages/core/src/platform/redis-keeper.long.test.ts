import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, type ClusterOptions, Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { recordSignals } from '../testing/record-signals';
import { startRedisProxy } from '../testing/redis-proxy';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import { isUnavailable } from './redis-errors';
import {
  type BullmqWorkerPatience,
  ConnectionHealth,
  KeptCluster,
  KeptRedis,
  reconnectDelay,
} from './redis-keeper';

const IMPATIENT: BullmqWorkerPatience = { idleMs: 50, attemptMs: 200, stuckMs: 1_000 };
const WORKING = { maxRetriesPerRequest: null, retryStrategy: reconnectDelay, disconnectTimeout: 100 };

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function keeping(patience: BullmqWorkerPatience = IMPATIENT) {
  const signals = recordSignals();
  return { signals, name: 'probe', emit: signals.listen, health: new ConnectionHealth(), patience };
}

function optionsOf(url: string) {
  const { hostname, port, pathname } = new URL(url);
  return { ...WORKING, host: hostname, port: Number(port), db: Number(pathname.slice(1)) };
}

/** Closed when the test is over, whatever it did. */
function open<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => {});
  willClose({ close: () => client.disconnect() });
  return client;
}

/** Not by `once` of events, which gives up at an error. */
async function until(client: Redis | Cluster, event: string): Promise<void> {
  await new Promise<void>((resolve) => client.once(event, () => resolve()));
}

/** A Redis that a test can take away and bring back, under the same port. */
async function startAway() {
  const test = willClose(await openTestRedis());
  const proxy = willClose(await startRedisProxy(test.url));
  return { proxy, test };
}

describe('a client of one Redis', () => {
  async function breakOff(client: Redis): Promise<void> {
    if (client.status !== 'ready') await until(client, 'ready');
    const waits = until(client, 'reconnecting');
    client.stream.destroy();
    await waits;
  }

  /** From where ioredis has ended it. */
  async function comeBack(client: Redis): Promise<void> {
    await closeAndOpenWhileItWaits(client);
    const ready = until(client, 'ready');
    client.stream.destroy();
    await ready;
  }

  // ioredis remembers that it was closed, and takes the next break, whenever that is, for the end of that.
  async function closeAndOpenWhileItWaits(client: Redis): Promise<void> {
    await breakOff(client);
    client.disconnect();
    const ready = until(client, 'ready');
    await client.connect();
    await ready;
  }

  it('comes back when it breaks after it was closed while it waited, and opened again', async () => {
    const test = willClose(await openTestRedis());
    const options = optionsOf(test.url);
    const plain = open(new Redis(options));
    await closeAndOpenWhileItWaits(plain);
    const hasEnded = until(plain, 'end');
    plain.stream.destroy();
    await hasEnded;

    const { signals, ...rest } = keeping();
    const kept = open(new KeptRedis(options, rest));
    await comeBack(kept);
    expect(await kept.ping()).toBe('PONG');
    expect(signals.named('redis.reopened')).toEqual([
      { name: 'redis.reopened', connection: 'probe', status: 'end' },
    ]);
    expect(plain.status).toBe('end');
  });

  it.each(['itself', 'a duplicate'])(
    '%s makes another attempt when nothing answers the first one, and does what waited',
    async (which) => {
      const { proxy, test } = await startAway();
      await test.client.set('key', 'value');
      const held = proxy.hold('hello');
      const first = new KeptRedis({ ...optionsOf(proxy.url), lazyConnect: which !== 'itself' }, keeping());
      const client: Redis = open(
        which === 'itself' ? open(first) : (open(first).duplicate({ lazyConnect: false }) as Redis),
      );
      const value = client.get('key');
      await held;
      expect(await value).toBe('value');
    },
  );

  it.each([
    ['disconnect', async (client: Redis): Promise<void> => client.disconnect()],
    ['quit', async (client: Redis): Promise<void> => void (await client.quit())],
  ] as const)('stays away after %s', async (_how, close) => {
    const test = willClose(await openTestRedis());
    const { signals, ...rest } = keeping();
    const client = open(new KeptRedis(optionsOf(test.url), rest));
    await until(client, 'ready');
    const ended = until(client, 'end');
    await close(client);
    await ended;
    // Another one, which nobody closed, comes back meanwhile.
    await comeBack(open(new KeptRedis(optionsOf(test.url), rest)));
    expect(client.status).toBe('end');
    expect(signals.named('redis.reopened')).toHaveLength(1);
  });

  it('does what waits and stays away after quit while it waited to reconnect', async () => {
    const test = willClose(await openTestRedis());
    const { signals, ...rest } = keeping();
    const client = open(new KeptRedis(optionsOf(test.url), rest));
    await breakOff(client);
    const ended = until(client, 'end');
    const answers = Promise.all([client.set('key', 'value'), client.quit()]);
    expect(await answers).toEqual(['OK', 'OK']);
    await ended;
    await comeBack(open(new KeptRedis(optionsOf(test.url), rest)));
    expect(client.status).toBe('end');
    expect(signals.named('redis.reopened')).toHaveLength(1);
    // It is its owner's to open it again.
    await client.connect();
    await comeBack(client);
  });

  it('stays away when quit fails because nothing may wait', async () => {
    const test = willClose(await openTestRedis());
    const { signals, ...rest } = keeping();
    const options = { ...optionsOf(test.url), enableOfflineQueue: false, retryStrategy: () => 1 };
    const client = open(new KeptRedis(options, rest));
    await breakOff(client);
    await expect(client.quit()).rejects.toThrow('enableOfflineQueue');
    await comeBack(open(new KeptRedis(optionsOf(test.url), rest)));
    expect(client.status).toBe('reconnecting');
    expect(signals.named('redis.reopened')).toHaveLength(1);
  });
});

describe('a client of the master behind Sentinels', () => {
  /** @param master what it replies when it is asked for the master. */
  async function startSentinel(master: string) {
    const server = await startTcpServer((socket) => {
      socket.on('data', (chunk) => {
        const commands = chunk
          .toString()
          .split(/^\*\d+\r\n/m)
          .slice(1);
        for (const command of commands) {
          if (command.includes('get-master-addr-by-name')) socket.write(master);
          else socket.write(command.includes('sentinels') ? '*0\r\n' : '+OK\r\n');
        }
      });
    });
    return { host: '127.0.0.1', port: willClose(server).port };
  }

  it('says of each Sentinel what was the matter with it', async () => {
    const ignorant = await startSentinel('*-1\r\n');
    const away = { host: '127.0.0.1', port: await findClosedPort() };
    const sentinels = [ignorant, away];
    const client = open(new KeptRedis({ ...WORKING, sentinels, name: 'hooks' }, keeping()));
    const error = await new Promise<Error>((resolve) => client.once('error', resolve));
    expect(error.message).toMatch(/the master "hooks"/);
    expect(error.message).toContain(`127.0.0.1:${ignorant.port} successfully, but got an invalid reply`);
    expect(error.message).toContain(`failed to connect to sentinel 127.0.0.1:${away.port}`);
    expect(isUnavailable(error)).toBe(true);
  });

  it('does not blame Sentinels that have named a master for that one', async () => {
    const port = String(await findClosedPort());
    const named = `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`;
    const sentinels = await Promise.all([startSentinel(named), startSentinel(named)]);
    const client = open(new KeptRedis({ ...WORKING, sentinels, name: 'hooks' }, keeping()));
    const errors: Error[] = [];
    client.on('error', (error: Error) => errors.push(error));
    // Two rounds over both.
    while (errors.length < 5) await new Promise(setImmediate);
    expect(new Set(errors.map(({ message }) => message))).toEqual(
      new Set([`connect ECONNREFUSED 127.0.0.1:${port}`]),
    );
  });

  it('asks no Sentinel any more when it is closed before it asks again', async () => {
    let asked = 0;
    let noteSecond = (_what: string) => {};
    const askedAgain = new Promise<string>((resolve) => {
      noteSecond = resolve;
    });
    const sentinel = await startTcpServer((socket) => {
      asked += 1;
      if (asked > 1) noteSecond('asked again');
      socket.on('error', () => {});
      client.disconnect(true);
      socket.destroy();
    });
    willClose(sentinel);
    const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
    const client = open(new KeptRedis({ ...WORKING, sentinels, name: 'hooks' }, keeping()));
    const ended = until(client, 'end').then(() => 'ended');
    await until(client, 'error');
    client.disconnect();
    expect(await Promise.race([ended, askedAgain])).toBe('ended');
    expect(asked).toBe(1);
  });
});

describe('a client of a Cluster', () => {
  /** One node, under a name that has to be resolved. */
  async function startCluster({ slots = 16_384 } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'webhooks-cluster-'));
    const bus = ['--cluster-enabled', 'yes', '--cluster-port', String(await findClosedPort())];
    const server = await startRedisServer([...bus, '--dir', folder]);
    willClose({
      close: async () => (await server.close(), rmSync(folder, { recursive: true, force: true })),
    });
    const admin = open(new Redis(server.url));
    const { port } = new URL(server.url);
    const proxy = willClose(await startRedisProxy(server.url));
    await admin.config('SET', 'cluster-announce-ip', '127.0.0.1');
    await admin.config('SET', 'cluster-announce-port', new URL(proxy.url).port);
    await admin.cluster('ADDSLOTSRANGE', 0, slots - 1);
    const untilWhole = async () => {
      while (!(await admin.cluster('INFO')).includes('cluster_state:ok'));
    };
    if (slots === 16_384) await untilWhole();
    const nodes = [{ host: 'localhost', port: Number(port) }];
    return { admin, nodes, proxy, untilWhole };
  }

  const options = { redisOptions: WORKING, clusterRetryStrategy: reconnectDelay };

  it('comes back when it is told to reconnect while it looks up its nodes', async () => {
    const { nodes } = await startCluster();
    const [plain, kept] = [
      open(new Cluster(nodes, options)),
      open(new KeptCluster(nodes, options, keeping())),
    ];
    const pongs = [plain.ping(), kept.ping()];
    for (const client of [plain, kept]) client.disconnect(true);
    expect(await pongs[1]).toBe('PONG');
    expect(plain.status).toBe('disconnecting');
    pongs[0]?.catch(() => {});
  });

  // As BullMQ does with the connection that its workers wait at.
  it('comes back when it is closed and opened at once', async () => {
    const { nodes } = await startCluster();
    const client = open(new KeptCluster(nodes, options, keeping()));
    expect(await client.ping()).toBe('PONG');
    for (let round = 0; round < 10; round += 1) {
      client.disconnect();
      client.connect().catch(() => {});
      while ((await client.ping().catch(() => undefined)) !== 'PONG') await until(client, 'ready');
    }
  });

  it('makes another attempt when nothing answers whether the Cluster is ready', async () => {
    const { nodes, proxy } = await startCluster();
    const held = proxy.hold('INFO');
    const client = open(new KeptCluster(nodes, options, keeping()));
    const pong = client.ping();
    await held;
    expect(await pong).toBe('PONG');
  });

  it('says that it could not connect when the Cluster is not ready, and goes on until it is', async () => {
    const { admin, nodes, untilWhole } = await startCluster({ slots: 16_000 });
    const client = open(new KeptCluster(nodes, { ...options, lazyConnect: true }, keeping()));
    await expect(client.connect()).rejects.toThrow('Connection is closed.');
    await admin.cluster('ADDSLOTSRANGE', 16_000, 16_383);
    await untilWhole();
    expect(await client.ping()).toBe('PONG');
  });

  it('keeps its duplicates too', async () => {
    const { nodes } = await startCluster();
    const first = open(new KeptCluster(nodes, { ...options, lazyConnect: true }, keeping()));
    const client = open(first.duplicate([], { lazyConnect: false }) as Cluster);
    const pong = client.ping();
    client.disconnect(true);
    expect(await pong).toBe('PONG');
  });
});

describe('ConnectionHealth', () => {
  it('names a connection that is unusable although nothing is tried any more, until it is closed', async () => {
    const server = await startTcpServer(() => {});
    willClose(server);
    const { health, ...rest } = keeping({ idleMs: 20, attemptMs: 20, stuckMs: 100 });
    const client = open(
      new KeptRedis({ ...WORKING, host: '127.0.0.1', port: server.port }, { ...rest, health }),
    );
    // What a library that has lost its way would make of being told to go on.
    const goOn = client.disconnect.bind(client);
    client.disconnect = () => {};
    await rest.signals.first('redis.reopened');
    expect(health.stuckConnection).toBeUndefined();
    while (health.stuckConnection === undefined) await new Promise(setImmediate);
    expect(health.stuckConnection).toBe('probe');
    goOn();
    expect(health.stuckConnection).toBeUndefined();
  });

  it('names a Cluster whose attempts come to nothing, until one does', async () => {
    const { health, ...rest } = keeping({ idleMs: 20, attemptMs: 20, stuckMs: 200 });
    const nodes = [{ host: 'a-node', port: await findClosedPort() }];
    const lookUps: string[] = [];
    let isSilent = true;
    const dnsLookup: ClusterOptions['dnsLookup'] = (name, answer) => {
      lookUps.push(name);
      if (!isSilent) answer(null, '127.0.0.1', 4);
    };
    const client = open(new KeptCluster(nodes, { redisOptions: WORKING, dnsLookup }, { ...rest, health }));
    while (health.stuckConnection === undefined && lookUps.length < 50) await new Promise(setImmediate);
    expect(health.stuckConnection).toBe('probe');
    const failed = until(client, 'error');
    isSilent = false;
    await failed;
    expect(health.stuckConnection).toBeUndefined();
  });

  it('has nothing to say of a Redis that is away for long, while it is tried', async () => {
    const { health, ...rest } = keeping({ idleMs: 200, attemptMs: 400, stuckMs: 400 });
    const options = { ...WORKING, retryStrategy: () => 50, host: '127.0.0.1', port: await findClosedPort() };
    const client = open(new KeptRedis(options, { ...rest, health }));
    for (let failures = 0; failures < 20; failures += 1) {
      await until(client, 'close');
      expect(health.stuckConnection).toBeUndefined();
    }
    expect(rest.signals.named('redis.reopened')).toEqual([]);
  });
});

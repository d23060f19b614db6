import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { answerWithin } from '@hookferry/core/platform/timers';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { createEventPublisher } from '@hookferry/producer';
import { Redis } from 'ioredis';
import { Receiver } from '../support/receiver';
import { RedisServer, redisProgram } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { WireProxy } from '../support/wire-proxy';

// What is promised in docs/reliability.md.
const BACK_WITHIN_MS = 15_000;
const POINTS = 40;
const NAME = 'hooks';

let redis: RedisServer;
let folder: string;
let sentinel: ChildProcess;
let toSentinel: WireProxy;
let toMaster: WireProxy;
let url: string;
let admin: Redis;
beforeAll(async () => {
  redis = await RedisServer.start();
  toMaster = await WireProxy.start(redis.port);
  folder = mkdtempSync(join(tmpdir(), 'webhooks-sentinel-'));
  const port = await findClosedPort();
  const file = join(folder, 'sentinel.conf');
  const monitor = `sentinel monitor ${NAME} 127.0.0.1 ${toMaster.listensOn} 1`;
  writeFileSync(
    file,
    `port ${port}\ndir ${folder}\n${monitor}\nsentinel down-after-milliseconds ${NAME} 600000\n`,
  );
  const { program, args, env } = redisProgram();
  sentinel = spawn(program, [...args, file, '--sentinel'], { env, stdio: 'ignore' });
  toSentinel = await WireProxy.start(port);
  url = `redis+sentinel://127.0.0.1:${toSentinel.listensOn}/${NAME}`;
  admin = new Redis(redis.port, '127.0.0.1');
});
afterEach(() => {
  toSentinel.onStep = toMaster.onStep = () => {};
});
afterAll(async () => {
  admin.disconnect();
  const exited = once(sentinel, 'exit');
  sentinel.kill('SIGKILL');
  await exited;
  await Promise.all([toSentinel.close(), toMaster.close()]);
  await redis.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs at each step of every connection, with the name of the step. */
function listenToSteps(onStep: (step: string) => Promise<void> | void): void {
  toSentinel.onStep = (step) => onStep(`sentinel ${step}`);
  toMaster.onStep = (step) => onStep(`master ${step}`);
}

/** What goes over the wire while a connection is made anew, in its order. */
async function learnSteps(): Promise<readonly string[]> {
  const client = connectRedis({ url, role: 'working', name: 'steps', emit: () => {} });
  await client.ping();
  await until(async () => (toSentinel.subscribers.length > 0 ? true : undefined));
  const steps: string[] = [];
  listenToSteps((step) => void steps.push(step));
  toMaster.breakAll();
  await client.ping();
  await until(async () => (toSentinel.subscribers.length > 0 ? true : undefined));
  toSentinel.onStep = toMaster.onStep = () => {};
  client.disconnect();
  await until(async () => (toSentinel.subscribers.length === 0 ? true : undefined));
  return [...new Set(steps)];
}

/** The master's connections break, and the Sentinel's message comes at this step of whichever connection is made then. */
function breakAndAnnounceAt(point: string): void {
  // Who connects only then would break off again, and again.
  const { subscribers } = toSentinel;
  listenToSteps(async (step) => {
    if (step !== point) return;
    await toSentinel.announceSwitch(subscribers, `${NAME} 127.0.0.1 1 127.0.0.1 2`);
  });
  toMaster.breakAll();
}

async function within<Result>(what: string, asked: Promise<Result>): Promise<Result> {
  const reply = await answerWithin(BACK_WITHIN_MS, asked);
  if (reply === undefined) throw new Error(`Not within ${BACK_WITHIN_MS} ms: ${what}`);
  return reply;
}

const pong = (client: RedisClient) => until(async () => await client.ping().then(Boolean, () => undefined));

it('a client comes back whenever the Sentinel says that there is another master', async () => {
  const steps = await learnSteps();
  // Those that the trace of this fault goes through, and as many as it takes to be sure that these are all.
  expect(steps).toEqual(
    expect.arrayContaining(['sentinel open', 'sentinel >1', 'sentinel <1', 'master open', 'master <1']),
  );
  const names = ['answering', 'working'] as const;
  const clients = names.map((role) => connectRedis({ url, role, name: role, emit: () => {} }));
  const [answering, working] = clients;
  if (!answering || !working) throw new Error('There are two.');
  clients.push((working as Redis).duplicate());
  const ends: string[] = [];
  for (const client of clients) client.on('error', () => {}).on('end', () => ends.push('end'));
  await Promise.all(clients.map(pong));
  for (let round = 0; round < POINTS; round += 1) {
    await until(async () => (toSentinel.subscribers.length === clients.length ? true : undefined));
    const point = steps[round % steps.length] ?? '';
    const broken = Promise.all(
      clients.map((client) => new Promise((resolve) => client.once('close', resolve))),
    );
    breakAndAnnounceAt(point);
    await broken;
    // What waits for its connection is done, and what waits for nothing fails soon.
    const waiting = working.set('key', point);
    await within(`round ${round}, ${point}`, Promise.all([waiting, ...clients.map(pong)]));
    expect({ round, point, ends }).toEqual({ round, point, ends: [] });
  }
  for (const client of clients) client.disconnect();
  await until(async () => (toSentinel.subscribers.length === 0 ? true : undefined));
});

it('a client passes over a Sentinel that takes connections and says nothing', async () => {
  toSentinel.isSilent = true;
  const client = connectRedis({ url, role: 'working', name: 'patient', emit: () => {} });
  client.on('error', () => {});
  const ping = client.ping();
  await new Promise((resolve) => client.once('sentinelError', resolve));
  toSentinel.isSilent = false;
  expect(await within('the reply', ping)).toBe('PONG');
  client.disconnect();
});

it('a producer passes over a Sentinel that takes connections and says nothing', async () => {
  toSentinel.isSilent = true;
  const publisher = createEventPublisher({ redisUrl: url, patienceMs: 500 });
  const publish = () => publisher.publish({ type: QUICK_WIN.type, data: QUICK_WIN.data });
  await expect(publish()).rejects.toMatchObject({ code: 'redis_unavailable' });
  toSentinel.isSilent = false;
  await within(
    'the event',
    until(async () => await publish().catch(() => undefined)),
  );
  await publisher.close();
});

it('a client hears the Sentinels again after all of them were away', async () => {
  const client = connectRedis({ url, role: 'working', name: 'hearing', emit: () => {} });
  client.on('error', () => {});
  await client.ping();
  await until(async () => (toSentinel.subscribers.length === 1 ? true : undefined));
  toSentinel.breakAll();
  await until(async () => (toSentinel.subscribers.length === 0 ? true : undefined));
  const heard = until(async () => (toSentinel.subscribers.length === 1 ? true : undefined));
  expect(await within('the subscription', heard)).toBe(true);
  client.disconnect();
});

it('API and worker come back with all their connections whenever the Sentinel says that there is another master', async () => {
  const steps = await learnSteps();
  const stack = await Stack.start({ environment: { REDIS_URL: url } });
  const receiver = await Receiver.start();
  try {
    await stack.client.register(receiver.url);
    const deliverOne = async (id: string) => {
      await until(async () => {
        const { status } = await stack.client.request('POST', '/v1/events', { ...QUICK_WIN, id });
        return status === 202 ? true : undefined;
      });
      const hasCome = () => receiver.requests.some(({ headers }) => headers['webhook-id'] === id);
      return await until(async () => (hasCome() ? true : undefined));
    };
    await deliverOne('before');
    const connections = await connectionNames();
    for (let round = 0; round < POINTS; round += 1) {
      const point = steps[round % steps.length] ?? '';
      breakAndAnnounceAt(point);
      await within(`an event in round ${round}, ${point}`, deliverOne(`round-${round}`));
      await within(
        `all connections after round ${round}, ${point}`,
        until(async () => ((await missing(connections)).length === 0 ? true : undefined)),
      );
    }
    expect(await missing(connections)).toEqual([]);
  } finally {
    await receiver.stop();
    await stack.stop();
  }
}, 300_000);

/** Those of `names` that are not connected any more, or not as often. */
async function missing(names: readonly string[]): Promise<readonly string[]> {
  const left = [...(await connectionNames())];
  return names.filter((name) => {
    const found = left.indexOf(name);
    if (found >= 0) left.splice(found, 1);
    return found < 0;
  });
}

/** Of all that is connected to the master but us: a client that has ended is missing. */
async function connectionNames(): Promise<readonly string[]> {
  const list = String(await admin.client('LIST'));
  return list
    .split('\n')
    .map((line) => / name=(\S+)/.exec(line)?.[1] ?? '')
    .filter((name) => name !== '' && !name.startsWith('sentinel'));
}

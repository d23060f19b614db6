import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { ApiClient } from '../support/api-client';
import { Balancer } from '../support/balancer';
import { ManagedProcess } from '../support/managed-process';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { addressOf, testSettings } from '../support/stack';
import { until } from '../support/until';

// Of each kind. A long run has more: RESTARTS=10.
const RESTARTS = Number(process.env.RESTARTS ?? 4);
const PUBLISHERS = 4;
const PAUSE_MS = 25;
// Several times as long as the balancer takes to notice.
const DRAIN_DELAY = '500ms';
const REPLICAS = 2;
const REPLICATED = ['--min-replicas-to-write', '1', '--repl-diskless-sync-delay', '0'];

const { key: apiKey } = buildApiKey();
let redis: RedisServer;
let replicas: readonly RedisServer[];
let receiver: Receiver;
let balancer: Balancer;
let apis: ManagedProcess[];
let workers: ManagedProcess[];
let ports: readonly number[];

beforeAll(async () => {
  redis = await RedisServer.start(REPLICATED);
  const ofReplica = ['--replicaof', `127.0.0.1 ${redis.port}`];
  replicas = await Promise.all(Array.from({ length: REPLICAS }, () => RedisServer.start(ofReplica)));
  await untilReplicated();
  ports = [await findClosedPort(), await findClosedPort()];
  apis = await Promise.all(ports.map(startApi));
  workers = await Promise.all(Array.from({ length: 3 }, startWorker));
  receiver = await Receiver.start();
  balancer = new Balancer(ports, apiKey);
  await until(async () => (balancer.readyCount === ports.length ? true : undefined));
});
afterAll(async () => {
  await balancer.stop();
  await Promise.all([...apis, ...workers].map((part) => part.end('SIGKILL')));
  await receiver.stop();
  await Promise.all([redis, ...replicas].map((server) => server.remove()));
});

it("loses nothing, refuses nothing and sends nothing twice while all but Redis' master is restarted by turns", async () => {
  await new ApiClient(`http://127.0.0.1:${ports[0]}`, apiKey).register(receiver.url);
  const load = publishWithoutEnd();
  await Promise.all([restartApis(), restartWorkers(), restartReplicas()]);
  const { accepted, failed } = await load.stop();

  await until(async () => {
    const arrived = new Set(idsReceived());
    return accepted.every((id) => arrived.has(id)) ? true : undefined;
  });
  await untilNothingIsLeft();

  expect(failed).toEqual([]);
  expect(idsReceived().toSorted()).toEqual(accepted.toSorted());
  // It would prove little if hardly anything had been on its way.
  expect(accepted.length).toBeGreaterThan(RESTARTS * 20);
});

function publishWithoutEnd() {
  const accepted: string[] = [];
  const failed: string[] = [];
  const stopping = new AbortController();
  let count = 0;
  const publishers = Array.from({ length: PUBLISHERS }, async () => {
    while (!stopping.signal.aborted) {
      const id = `deploy-${count++}`;
      const outcome = await balancer.post('/v1/events', { ...QUICK_WIN, id }).catch(String);
      if (outcome === 202) accepted.push(id);
      else failed.push(`${id}: ${outcome}`);
      await wait(PAUSE_MS);
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(publishers);
      return { accepted, failed };
    },
  };
}

async function restartApis(): Promise<void> {
  for (let i = 0; i < RESTARTS; i += 1) {
    const index = i % apis.length;
    expect(await apis[index]?.end('SIGTERM')).toBe(0);
    apis[index] = await startApi(ports[index] ?? 0);
    // As a rolling deploy does before it goes on with the next one.
    await until(async () => (balancer.readyCount === apis.length ? true : undefined));
  }
}

async function restartWorkers(): Promise<void> {
  for (let i = 0; i < RESTARTS; i += 1) {
    const index = i % workers.length;
    expect(await workers[index]?.end('SIGTERM')).toBe(0);
    workers[index] = await startWorker();
  }
}

async function restartReplicas(): Promise<void> {
  for (let i = 0; i < RESTARTS; i += 1) {
    const replica = replicas[i % replicas.length];
    if (!replica) return;
    await replica.kill();
    await replica.start();
    await untilReplicated();
  }
}

/** As the master sees it, which is what it takes writes by: a replica thinks that it is in order a moment before. */
async function untilReplicated(): Promise<void> {
  const client = new Redis(redis.port, '127.0.0.1');
  await until(async () =>
    (await client.info('replication')).includes(`min_slaves_good_slaves:${REPLICAS}`) ? true : undefined,
  );
  client.disconnect();
}

/** What would be sent once more would be on the queue still. */
async function untilNothingIsLeft(): Promise<void> {
  const connection = new Redis(redis.port, '127.0.0.1');
  const deliveries = new Queue('deliveries', { connection });
  await until(async () => {
    const jobs = await deliveries.getJobCountByTypes('wait', 'prioritized', 'active', 'delayed', 'failed');
    return jobs === 0 ? true : undefined;
  });
  await deliveries.close();
  connection.disconnect();
}

function idsReceived(): readonly string[] {
  return receiver.requests.map(({ headers }) => String(headers['webhook-id']));
}

async function startApi(port: number): Promise<ManagedProcess> {
  return await start('api', { API_PORT: String(port), DRAIN_DELAY });
}

async function startWorker(): Promise<ManagedProcess> {
  return await start('worker', {});
}

async function start(app: 'api' | 'worker', more: Readonly<Record<string, string>>): Promise<ManagedProcess> {
  const script = join(__dirname, '..', '..', 'apps', app, 'dist/main.js');
  const started = new ManagedProcess(script, { ...testSettings(redis.url, apiKey), ...more });
  await addressOf(started);
  return started;
}

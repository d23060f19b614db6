/** All the processes of one measurement: a Redis, a receiver, a sender, and an API with a worker, ours or hand-rolled. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Closables, createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Redis } from 'ioredis';
import { BuiltService, untilReady } from '../processes/built-service';
import { startPostgres } from '../processes/measured-postgres';
import { type MeasuredProcess, RedisProcess, runScript } from '../processes/measured-process';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { type Behaviour, ReceiverProcess } from '../traffic/receiver';
import { SenderProcess, type Target } from '../traffic/sender';

/** All the processes of one measurement. */
export interface Stage {
  readonly redis: RedisProcess;
  readonly receiver: ReceiverProcess;
  readonly sender: SenderProcess;
  readonly pair: Pair;
  /** Of the history, where there is one. */
  readonly postgres: PostgresServer | undefined;
}

export interface StageOptions {
  /** How many there are, which get events in turn. One unless given. */
  readonly webhooks?: number;
  /** How long their receiver takes on average: from half of it to one and a half. At once unless given. */
  readonly receiverMs?: number;
  /** What their receiver does, if not that. */
  readonly behaviour?: Behaviour;
  /** For node, in both processes. */
  readonly nodeOptions?: readonly string[];
  /** Whether Redis has a replica, whose cost is not counted. */
  readonly hasReplica?: boolean;
  /** Whether there is a history in a PostgreSQL, to which nothing moves meanwhile. */
  readonly hasHistory?: boolean;
}

/** The receiver's stream that all events come in. */
export const STREAM = 'path';

/** Starts the contender with a new Redis, and ends all of it afterwards. */
export async function onStage<T>(
  contender: PathContender,
  work: (stage: Stage) => Promise<T>,
  { webhooks = 1, receiverMs = 0, behaviour, nodeOptions = [], hasReplica, hasHistory }: StageOptions = {},
): Promise<T> {
  const { willClose, closeAll } = createClosables();
  try {
    const redis = willClose(await RedisProcess.start());
    if (hasReplica) willClose(await startReplica(redis));
    const postgres = hasHistory ? willClose(await startPostgres()) : undefined;
    const receiver = willClose(await ReceiverProcess.start());
    const sender = willClose(new SenderProcess());
    const url = receiver.urlOf(behaviour ?? (receiverMs > 0 ? `after-${receiverMs}` : 'ok'), STREAM);
    const receiverUrls = webhooks === 1 ? [url] : Array.from({ length: webhooks }, (_, i) => `${url}?${i}`);
    const historyUrl = postgres?.url;
    const pair = await contender.start({
      redisUrl: redis.url,
      historyUrl,
      receiverUrls,
      nodeOptions,
      willClose,
    });
    return await work({ redis, receiver, sender, pair, postgres });
  } finally {
    await closeAll();
  }
}

const LOOK_EVERY_MS = 20;

async function startReplica(master: RedisProcess): Promise<RedisProcess> {
  const replica = await RedisProcess.start(['--replicaof', `127.0.0.1 ${master.port}`]);
  const client = new Redis(replica.url);
  while (!(await client.info('replication')).includes('master_link_status:up')) await wait(LOOK_EVERY_MS);
  client.disconnect();
  return replica;
}

/** Starts all contenders, each on a stage of its own. */
export async function onStages<T>(
  contenders: readonly PathContender[],
  work: (stages: readonly Stage[]) => Promise<T>,
  options: StageOptions = {},
): Promise<T> {
  const [next, ...others] = contenders;
  if (!next) return await work([]);
  return await onStage(
    next,
    (stage) => onStages(others, (stages) => work([stage, ...stages]), options),
    options,
  );
}

export interface PathOptions {
  readonly redisUrl: string;
  /** The PostgreSQL of a history; undefined: there is none. */
  readonly historyUrl: string | undefined;
  /** Where the webhooks are. Each event goes to one of them; with more than one, events are aimed at them in turn. */
  readonly receiverUrls: readonly string[];
  /** For node, in both processes. */
  readonly nodeOptions: readonly string[];
  readonly willClose: Closables['willClose'];
}

/** An API and a worker with all webhooks registered. */
export interface Pair {
  readonly api: MeasuredProcess;
  readonly worker: MeasuredProcess;
  readonly target: Target;
}

export interface PathContender {
  readonly name: string;
  start(options: PathOptions): Promise<Pair>;
}

// The service's own default.
const CONCURRENCY = 256;

export const plainContender: PathContender = {
  name: 'hand-rolled pair',

  async start({ redisUrl, receiverUrls, willClose }) {
    const redis = new Redis(redisUrl);
    for (const [i, url] of receiverUrls.entries()) {
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      await redis.hset(`endpoint:${i}`, { url, secret });
    }
    redis.disconnect();

    const port = await findClosedPort();
    const url = `http://127.0.0.1:${port}`;
    const settings = { REDIS_URL: redisUrl, API_PORT: String(port), WORKER_CONCURRENCY: String(CONCURRENCY) };
    const api = willClose(runScript(join(__dirname, 'plain-api.js'), settings));
    const worker = willClose(runScript(join(__dirname, '../drain/plain-worker.js'), settings));
    await untilReady(url);
    const webhookIds = receiverUrls.length > 1 ? receiverUrls.map((_, i) => String(i)) : [];
    return { api, worker, target: { url, headers: {}, webhookIds } };
  },
};

export interface ServiceOptions {
  /** The checkout whose build is run. */
  readonly build: string;
  /** Whether each request to publish has a key of its own. */
  readonly idempotencyKeys?: boolean;
  /** Settings of both processes, in the place of those of the benchmarks. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What is asked for when each webhook is registered, beside URL and event type. */
  readonly webhook?: object;
  /** The code that makes the bodies of all webhooks. */
  readonly transformation?: string;
  /** Added to the event types that are built in, and used. */
  readonly ownType?: { readonly name: string; readonly schema: object };
}

export function serviceContender(options: ServiceOptions): PathContender {
  const { build, idempotencyKeys = false, webhook, transformation, ownType } = options;
  return {
    name: 'this service',

    async start({ redisUrl, historyUrl, receiverUrls, nodeOptions, willClose }) {
      // By default an account may have fewer.
      const most = receiverUrls.length > 500 ? { MAX_WEBHOOKS: String(receiverUrls.length) } : {};
      const history = historyUrl ? { HISTORY_DATABASE_URL: historyUrl, HISTORY_MOVE_AFTER: '1h' } : {};
      const environment = { ...most, ...history, ...options.environment };
      const service = willClose(await BuiltService.start({ build, redisUrl, nodeOptions, environment }));
      if (ownType) {
        const type = { description: 'A type of the benchmark.', schema: ownType.schema, example: dataOf(0) };
        await service.ask('default', 'PUT', `/v1/event-types/${ownType.name}`, type);
      }
      const eventType = ownType?.name ?? EVENT_TYPE;
      const webhooks = receiverUrls.map((url) => ({ url, events: [eventType], ...webhook }));
      const ids = await service.registerAll('default', webhooks);
      if (transformation !== undefined) await service.transform('default', ids, transformation);
      const webhookIds = ids.length > 1 ? ids : [];
      const target = { ...service.targetOf('default'), webhookIds, eventType, idempotencyKeys };
      return { api: service.api, worker: service.worker, target };
    },
  };
}

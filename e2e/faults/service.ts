import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { Queue } from 'bullmq';
import { ApiClient } from '../support/api-client';
import type { RedisServer } from '../support/redis-server';
import { FaultyProxy } from './faulty-proxy';
import type { HistoryDatabase } from './history/history-database';
import type { Target } from './publish-over-http';
import type { RedisDeployment } from './redis/redis-deployment';
import { ServiceProcess } from './service-process';

// Short, so that runs end soon; long enough in all that nothing a run does uses it up.
// Longer than any receiver is away: a delivery that gave up by its schedule would not tell what was lost.
const RETRY_SCHEDULE = ['200ms', '500ms', '1s', '1s', ...Array<string>(150).fill('2s')].join(',');
// More than any run publishes: a list that was cut would look like a loss.
const RETENTION_COUNT = '1000000';

export interface ServiceHistory {
  readonly database: HistoryDatabase;
  /** HISTORY_MOVE_AFTER. */
  readonly moveAfterMs: number;
}

export interface ServiceOptions {
  /** The root of a built checkout whose programs are run. */
  readonly build: string;
  /** Ends with the service. */
  readonly redis: RedisDeployment;
  /** Ends with the service. Absent: all of the history is in Redis. */
  readonly history?: ServiceHistory | undefined;
  /** For all processes, on top of what every run needs. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The service under test: two APIs and two workers, each behind a proxy of its own where Redis is one server. */
export class Service {
  readonly apis: ServiceProcess[] = [];
  readonly workers: ServiceProcess[] = [];
  readonly apiKey = buildApiKey().key;
  /** How many there were at once. */
  mostWorkers = 0;
  #workersMade = 0;

  private constructor(
    private readonly options: ServiceOptions,
    /** Where the processes' logs are. */
    readonly folder: string,
  ) {}

  static async start(options: ServiceOptions): Promise<Service> {
    const service = new Service(options, await mkdtemp(join(tmpdir(), 'webhooks-faults-')));
    try {
      service.apis.push(await service.#prepare('api', 'api A'), await service.#prepare('api', 'api B'));
      await Promise.all([
        ...service.apis.map((api) => api.start()),
        service.addWorker(),
        service.addWorker(),
      ]);
    } catch (error) {
      await service.stop();
      throw error;
    }
    return service;
  }

  /** @throws where Redis is not one server. */
  get redis(): RedisServer {
    const { server } = this.options.redis;
    if (!server) throw new Error('There is more than one Redis server in this run.');
    return server;
  }

  get deployment(): RedisDeployment {
    return this.options.redis;
  }

  /** A client of the first API: for what is done while nothing is broken. */
  get client(): ApiClient {
    return new ApiClient(this.apis[0]?.url ?? '', this.apiKey);
  }

  get hasHistory(): boolean {
    return this.options.history !== undefined;
  }

  /** How long after its end a delivery moves. */
  get historyMoveAfterMs(): number {
    return this.options.history?.moveAfterMs ?? 0;
  }

  /** @throws where there is none. */
  get history(): HistoryDatabase {
    const { history } = this.options;
    if (!history) throw new Error('There is no history in this run.');
    return history.database;
  }

  /** The APIs as a publisher sees them. */
  get targets(): readonly Target[] {
    return this.apis.map(({ url }) => ({ url, apiKey: this.apiKey }));
  }

  async addWorker(): Promise<void> {
    const name = `worker ${String.fromCharCode('A'.charCodeAt(0) + (this.#workersMade++ % 26))}`;
    const worker = await this.#prepare('worker', name);
    this.workers.push(worker);
    this.mostWorkers = Math.max(this.mostWorkers, this.workers.length);
    await worker.start();
  }

  /** Ends the oldest one as an orchestrator does. */
  async removeWorker(): Promise<void> {
    const worker = this.workers.shift();
    await worker?.end('SIGTERM');
    await worker?.close();
  }

  /** As any program does that can reach Redis. */
  async pushOntoQueue(name: string, data: unknown): Promise<void> {
    const connection = this.deployment.connect({ maxRetriesPerRequest: null });
    const queue = new Queue('events', { connection, prefix: this.deployment.prefix });
    await queue.add(name, data);
    await queue.close();
    connection.disconnect();
  }

  /** Runs a command of `hookferry-admin`, past all proxies. */
  async administer(words: readonly string[]): Promise<void> {
    const { build, redis } = this.options;
    const env = { PATH: process.env.PATH ?? '', REDIS_URL: redis.url };
    await promisify(execFile)(process.execPath, [join(build, 'apps/admin/dist/main.js'), ...words], { env });
  }

  /** The text at a key of Redis. */
  readonly readStored = async (key: string): Promise<string | null> => {
    const connection = this.deployment.connect({ maxRetriesPerRequest: null });
    const text = await connection.get(key);
    connection.disconnect();
    return text;
  };

  async findKeys(pattern: string): Promise<readonly string[]> {
    const connection = this.deployment.connect({ maxRetriesPerRequest: null });
    const keys = await connection.keys(pattern);
    connection.disconnect();
    return keys;
  }

  /** Ends it without ceremony: all that is to be known of it is known by then. */
  async stop({ areLogsWanted = false } = {}): Promise<void> {
    const parts = [...this.apis, ...this.workers];
    await Promise.all(parts.map((part) => part.close()));
    await this.options.redis.remove();
    await this.options.history?.database.remove();
    if (!areLogsWanted) await rm(this.folder, { recursive: true, force: true });
  }

  async #prepare(kind: 'api' | 'worker', name: string): Promise<ServiceProcess> {
    const { build, redis, history, environment } = this.options;
    const proxy = redis.server && (await FaultyProxy.start(redis.server.port));
    const historyProxy = history && (await FaultyProxy.start(history.database.port));
    const redisUrl = proxy ? `redis://127.0.0.1:${proxy.port}` : redis.url;
    const port = await findClosedPort();
    return new ServiceProcess({
      name,
      script: join(build, `apps/${kind}/dist/main.js`),
      environment: {
        ...settingsOf(kind, port, redisUrl, this.apiKey),
        ...(history && historyProxy ? historySettingsOf(kind, history, historyProxy.port) : {}),
        ...environment,
      },
      url: `http://127.0.0.1:${port}`,
      proxy,
      historyProxy,
      folder: this.folder,
    });
  }
}

function settingsOf(kind: 'api' | 'worker', port: number, redisUrl: string, apiKey: string) {
  const prefix = kind === 'api' ? 'API' : 'WORKER';
  return {
    PATH: process.env.PATH ?? '',
    REDIS_URL: redisUrl,
    [`${prefix}_HOST`]: '127.0.0.1',
    [`${prefix}_PORT`]: String(port),
    SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
    ALLOW_HTTP_URLS: 'true',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
    RETENTION_COUNT,
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
    ...(kind === 'api'
      ? { BOOTSTRAP_API_KEY: apiKey, RATE_LIMIT: 'off', MAX_WEBHOOKS: '20000', DRAIN_DELAY: '0s' }
      : { RETRY_SCHEDULE: RETRY_SCHEDULE }),
  };
}

function historySettingsOf(
  kind: 'api' | 'worker',
  { database, moveAfterMs }: ServiceHistory,
  port: number,
): Readonly<Record<string, string>> {
  const HISTORY_DATABASE_URL = database.urlAt(port);
  return kind === 'api'
    ? { HISTORY_DATABASE_URL }
    : { HISTORY_DATABASE_URL, HISTORY_MOVE_AFTER: `${moveAfterMs}ms` };
}

import { join } from 'node:path';
import { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { migrate } from '@hookferry/core/history/database/pg-schema';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { hasPostgres, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { ApiClient } from './api-client';
import { ManagedProcess } from './managed-process';

const ROOT = join(__dirname, '..', '..');
/** Any test of whole flows can be run with a history: it finds no difference. jest hands its environment on to its workers. */
const WITH_HISTORY = process.env.TEST_HISTORY === '1' && hasPostgres;
const API = join(ROOT, 'apps/api/dist/main.js');

export interface StackOptions {
  readonly workers?: number;
  /** For all processes, on top of what a test needs. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Instead of a database in the server that all tests share. */
  readonly redisUrl?: string;
  /** Starts a PostgreSQL of its own: what has ended moves there at once. Default: with TEST_HISTORY=1. */
  readonly hasHistory?: boolean;
}

/** The whole service, from its build, as processes of their own, on a Redis database of its own. */
export class Stack {
  readonly workers: ManagedProcess[] = [];
  readonly #moreApis: ManagedProcess[] = [];

  private constructor(
    readonly redis: TestRedis,
    readonly api: ManagedProcess,
    readonly client: ApiClient,
    readonly bootstrapKey: string,
    private readonly environment: Readonly<Record<string, string>>,
    /** Only with a history. */
    readonly postgres: PostgresServer | undefined,
  ) {}

  static async start(options: StackOptions = {}): Promise<Stack> {
    const { workers = 1, environment = {}, redisUrl, hasHistory = WITH_HISTORY } = options;
    const redis = await openTestRedis(redisUrl);
    const { key: apiKey } = buildApiKey();
    const postgres = hasHistory ? await startPostgres() : undefined;
    const history = postgres ? { HISTORY_DATABASE_URL: postgres.url, HISTORY_MOVE_AFTER: '0s' } : {};
    const settings = { ...testSettings(redis.url, apiKey), ...history, ...environment };
    const api = new ManagedProcess(API, settings);
    const client = new ApiClient(await addressOf(api), apiKey);
    const stack = new Stack(redis, api, client, apiKey, settings, postgres);
    await Promise.all(Array.from({ length: workers }, () => stack.startWorker()));
    await client.waitUntilReady();
    return stack;
  }

  /** One more API beside the first. */
  async startApi(environment: Readonly<Record<string, string>> = {}) {
    const api = new ManagedProcess(API, { ...this.environment, ...environment });
    this.#moreApis.push(api);
    const client = new ApiClient(await addressOf(api), this.bootstrapKey);
    await client.waitUntilReady();
    return { api, client };
  }

  async startWorker(environment: Readonly<Record<string, string>> = {}): Promise<ManagedProcess> {
    const worker = new ManagedProcess(join(ROOT, 'apps/worker/dist/main.js'), {
      ...this.environment,
      ...environment,
    });
    this.workers.push(worker);
    await addressOf(worker);
    return worker;
  }

  /** Leaves the API running, for the next test of the file. */
  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.end()));
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    await Promise.all([this.api, ...this.#moreApis].map((part) => part.end()));
    await this.redis.close();
    await this.postgres?.close();
  }
}

/** With its tables, which the first worker would make: a test may begin without one. */
async function startPostgres(): Promise<PostgresServer> {
  const postgres = await PostgresServer.start();
  const options = { url: postgres.url, applicationName: 'test', readers: 1, writers: 1 };
  const database = new PgDatabase(options);
  await migrate(database);
  await database.close();
  return postgres;
}

/** What processes of the service need to serve a test: ports of their own, and receivers on this machine. */
export function testSettings(redisUrl: string, apiKey: string) {
  return {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    // Nothing stands before it that would have to notice.
    DRAIN_DELAY: '0s',
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: '0',
    BOOTSTRAP_API_KEY: apiKey,
    SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
    ALLOW_HTTP_URLS: 'true',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
  };
}

/** Where a process listens, once it does. */
export async function addressOf(part: ManagedProcess): Promise<string> {
  const started = await part.waitForLine((line) => line.message === 'process.started');
  const address = /http:\/\/[^/\s]+/.exec(String(started.detail));
  if (!address) throw new Error(`No address in "${String(started.detail)}".`);
  return address[0];
}

import { join } from 'node:path';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { ApiClient } from './api-client';
import { ManagedProcess } from './managed-process';

const ROOT = join(__dirname, '..', '..');
const API = join(ROOT, 'apps/api/dist/main.js');

export interface StackOptions {
  readonly workers?: number;
  /** For all processes, on top of what a test needs. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Instead of a database in the server that all tests share. */
  readonly redisUrl?: string;
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
  ) {}

  static async start({ workers = 1, environment = {}, redisUrl }: StackOptions = {}): Promise<Stack> {
    const redis = await openTestRedis(redisUrl);
    const { key: apiKey } = buildApiKey();
    const settings = { ...testSettings(redis.url, apiKey), ...environment };
    const api = new ManagedProcess(API, settings);
    const client = new ApiClient(await addressOf(api), apiKey);
    const stack = new Stack(redis, api, client, apiKey, settings);
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
  }
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

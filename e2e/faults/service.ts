import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApiKey } from '@webhooks/core/testing/build-api-key';
import { findClosedPort } from '@webhooks/core/testing/local-server';
import { TEST_ENCRYPTION_KEY } from '@webhooks/core/testing/test-sealer';
import { ApiClient } from '../support/api-client';
import { RedisServer } from '../support/redis-server';
import { FaultyProxy } from './faulty-proxy';
import type { Target } from './publish-over-http';
import { ServiceProcess } from './service-process';

// Short, so that runs end soon; long enough in all that nothing a run does uses it up.
const RETRY_SCHEDULE = ['200ms', '500ms', '1s', '1s', ...Array<string>(16).fill('2s')].join(',');

// Redis writes its log before it answers, unless it is asked to sync it every second: while such a sync is under
// way it answers first, for up to two seconds. A kill would then lose what was acknowledged, and the service could
// do nothing about it. `no` leaves the syncing to the kernel, which outlives a killed process.
const REDIS_OPTIONS = ['--appendfsync', 'no', '--maxmemory-policy', 'noeviction'];

/** The service under test: two APIs and two workers, each behind a proxy of its own, and their Redis. */
export class Service {
  private constructor(
    readonly redis: RedisServer,
    readonly apis: readonly ServiceProcess[],
    readonly workers: readonly ServiceProcess[],
    readonly apiKey: string,
    /** Where the processes' logs are. */
    readonly folder: string,
  ) {}

  /** @param build the root of a built checkout whose programs are run. */
  static async start(build: string): Promise<Service> {
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-faults-'));
    const redis = await RedisServer.start(REDIS_OPTIONS);
    const { key } = buildApiKey();
    const prepare = async (kind: 'api' | 'worker', name: string): Promise<ServiceProcess> => {
      const [proxy, port] = [await FaultyProxy.start(redis.port), await findClosedPort()];
      return new ServiceProcess({
        name,
        script: join(build, `apps/${kind}/dist/main.js`),
        environment: settingsOf(kind, port, proxy.url, key),
        url: `http://127.0.0.1:${port}`,
        proxy,
        logFile: join(folder, `${name}.log`),
      });
    };
    const apis = [await prepare('api', 'api A'), await prepare('api', 'api B')];
    const workers = [await prepare('worker', 'worker A'), await prepare('worker', 'worker B')];
    const service = new Service(redis, apis, workers, key, folder);
    try {
      await Promise.all([...apis, ...workers].map((part) => part.start()));
    } catch (error) {
      await service.stop();
      throw error;
    }
    return service;
  }

  /** A client of the first API: for what is done while nothing is broken. */
  get client(): ApiClient {
    return new ApiClient(this.apis[0]?.url ?? '', this.apiKey);
  }

  /** The APIs as a publisher sees them. */
  get targets(): readonly Target[] {
    return this.apis.map(({ url }) => ({ url, apiKey: this.apiKey }));
  }

  /** Ends it without ceremony: all that is to be known of it is known by then. */
  async stop(): Promise<void> {
    const parts = [...this.apis, ...this.workers];
    await Promise.all(parts.map((part) => part.end('SIGKILL')));
    await Promise.all(parts.map(({ proxy }) => proxy.close()));
    await this.redis.remove();
    await rm(this.folder, { recursive: true, force: true });
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
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
    ...(kind === 'api'
      ? { BOOTSTRAP_API_KEY: apiKey, RATE_LIMIT: 'off' }
      : { RETRY_SCHEDULE: RETRY_SCHEDULE }),
  };
}

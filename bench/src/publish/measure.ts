import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { TEST_ENCRYPTION_KEY } from '@webhooks/core/testing/test-sealer';
import { Redis } from 'ioredis';
import { MeasuredProcess } from '../processes/measured-process';
import { publishMany } from './load';

export interface PublishContender {
  readonly name: string;
  readonly script: string;
  readonly hasIdempotencyKeys: boolean;
}

export interface PublishOptions {
  readonly redisUrl: string;
  readonly requests: number;
}

const CONNECTIONS = 32;
// Until the process runs at its usual speed.
const WARM_UP_SHARE = 0.5;
const LOOK_EVERY_MS = 20;

/** Requests for each second of the process's processor time. */
export async function measurePublishing(
  contender: PublishContender,
  { redisUrl, requests }: PublishOptions,
): Promise<number> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  await redis.flushdb();
  const port = await freePort();
  const apiKey = `whk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}`;
  const api = new MeasuredProcess(contender.script, {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: String(port),
    BOOTSTRAP_API_KEY: apiKey,
    SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
    RATE_LIMIT: '1000000/1s',
  });
  const url = `http://127.0.0.1:${port}`;
  const load = { url, apiKey, connections: CONNECTIONS, hasIdempotencyKeys: contender.hasIdempotencyKeys };
  try {
    await untilReady(url);
    await publishMany({ ...load, requests: Math.round(requests * WARM_UP_SHARE) });
    const startedAt = api.cpuMs();
    await publishMany({ ...load, requests });
    return (requests / (api.cpuMs() - startedAt)) * 1_000;
  } finally {
    await api.stop();
    redis.disconnect();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await wait(LOOK_EVERY_MS);
  }
}

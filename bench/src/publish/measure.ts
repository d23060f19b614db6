import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { MeasuredProcess } from '../processes/measured-process';
import { untilReady } from '../processes/until-ready';
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

/** Requests for each second of the process's processor time. */
export async function measurePublishing(
  contender: PublishContender,
  { redisUrl, requests }: PublishOptions,
): Promise<number> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  await redis.flushdb();
  const port = await findClosedPort();
  const { key: apiKey } = buildApiKey();
  const api = new MeasuredProcess(contender.script, {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: String(port),
    BOOTSTRAP_API_KEY: apiKey,
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

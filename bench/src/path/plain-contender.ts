import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { MeasuredProcess } from '../processes/measured-process';
import { untilReady } from '../processes/until-ready';
import type { PathContender } from './contender';

// The service's own default.
const CONCURRENCY = 256;

export const plainContender: PathContender = {
  name: 'hand-rolled pair',

  async start({ redisUrl, receiverUrls }) {
    const redis = new Redis(redisUrl);
    for (const [i, url] of receiverUrls.entries()) {
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      await redis.hset(`endpoint:${i}`, { url, secret });
    }
    redis.disconnect();

    const port = await findClosedPort();
    const url = `http://127.0.0.1:${port}`;
    const api = new MeasuredProcess(join(__dirname, 'plain-api.js'), {
      REDIS_URL: redisUrl,
      API_PORT: String(port),
    });
    const addWorker = () =>
      new MeasuredProcess(join(__dirname, '../drain/plain-worker.js'), {
        REDIS_URL: redisUrl,
        WORKER_CONCURRENCY: String(CONCURRENCY),
      });
    const worker = addWorker();
    const stop = async () => void (await Promise.all([api.stop(), worker.stop()]));
    try {
      await untilReady(url);
    } catch (error) {
      await stop();
      throw error;
    }
    const webhookIds = receiverUrls.length > 1 ? receiverUrls.map((_, i) => String(i)) : [];
    return { api, worker, target: { url, headers: {}, webhookIds }, addWorker, stop };
  },
};

/**
 * The yardstick: the worker that a team would write by hand in an afternoon. BullMQ, one read of the endpoint,
 * an HMAC, got with kept-alive connections, BullMQ's own retries. No record, no guard, no isolation.
 */
import { createHmac } from 'node:crypto';
import { Agent } from 'node:http';
import { Worker } from 'bullmq';
import { got } from 'got';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null });
const agent = { http: new Agent({ keepAlive: true }) };

interface Job {
  readonly endpointId: string;
  readonly type: string;
  readonly data: unknown;
}

const worker = new Worker<Job>(
  'deliveries',
  async ({ data: job }) => {
    const endpoint = await redis.hgetall(`endpoint:${job.endpointId}`);
    const body = JSON.stringify({ type: job.type, data: job.data });
    const signature = createHmac('sha256', endpoint.secret ?? '')
      .update(body)
      .digest('hex');
    await got.post(endpoint.url ?? '', {
      body,
      agent,
      headers: { 'content-type': 'application/json', 'x-service-signature': `sha256=${signature}` },
      timeout: { request: 15_000 },
      retry: { limit: 0 },
    });
  },
  {
    connection: redis,
    concurrency: Number(process.env.WORKER_CONCURRENCY),
    removeOnComplete: { count: 0 },
  },
);

process.on('SIGTERM', () => void worker.close().then(() => process.exit(0)));

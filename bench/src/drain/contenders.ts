/** The workers that are measured, and what is measured of one of them at a full queue. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { RedisProcess, runScript } from '../processes/measured-process';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import type { Filling } from './fill';
import { type DrainFigures, measureDrain, workerSettings } from './measure';

/** A worker that is measured: its program, and how its queue is filled. */
export interface Contender {
  readonly name: string;
  readonly script: string;
  fill(filling: Filling): Promise<void>;
}

export const plainWorker: Contender = {
  name: 'plain worker',
  script: join(__dirname, 'plain-worker.js'),
  fill: fillPlainly,
};

/** The worker of a checkout that is built, whose own code fills the queue: what waits may look different in each. */
export function serviceOf(build: string, name = 'this service'): Contender {
  return {
    name,
    script: join(build, 'apps/worker/dist/main.js'),
    async fill(filling) {
      const module: typeof import('./fill') = await import(join(build, 'bench/dist/drain/fill.js'));
      await module.fill(filling);
    },
  };
}

interface Drained {
  readonly deliveries: number;
  /** How many of them are delivered before the measurement begins. */
  readonly warmUp: number;
  /** What fills the queue: ten endpoints, with an account for each, unless given. */
  readonly filling?: Partial<Pick<Filling, 'endpoints' | 'endpoint' | 'groups'>>;
  /** How many requests the worker makes at once, unless it is as many as it usually does here. */
  readonly atOnce?: number | undefined;
}

const ENDPOINTS = 10;

/** What the worker makes of a queue that is full, on a Redis of its own. */
export async function drain(contender: Contender, drained: Drained): Promise<DrainFigures> {
  const { deliveries, warmUp, filling, atOnce } = drained;
  const redis = await RedisProcess.start();
  const { url: redisUrl } = redis;
  const usual = { redisUrl, deliveries, endpoints: ENDPOINTS, perAccount: 1 };
  try {
    return await measureDrain({
      redis: [redis],
      deliveries,
      fill: (receiverUrl) => contender.fill({ ...usual, receiverUrl, ...filling }),
      startWorkers: () => [runScript(contender.script, workerSettings(redisUrl, atOnce))],
      from: warmUp,
      until: deliveries,
    });
  } finally {
    await redis.close();
  }
}

const CHUNK = 500;

async function fillPlainly({ redisUrl, receiverUrl, deliveries, endpoints }: Filling): Promise<void> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  for (let i = 0; i < endpoints; i += 1) {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await redis.hset(`endpoint:${i}`, { url: receiverUrl, secret });
  }
  const queue = new Queue('deliveries', { connection: redis });
  for (let start = 0; start < deliveries; start += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, deliveries - start) }, (_, i) => start + i);
    await queue.addBulk(
      numbers.map((i) => ({
        name: 'deliver',
        data: { endpointId: String(i % endpoints), type: EVENT_TYPE, data: dataOf(i) },
        opts: { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } },
      })),
    );
  }
  await queue.close();
  redis.disconnect();
}

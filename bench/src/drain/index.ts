import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { compare, type Figure, inTurn } from '../compare';
import { roundsOf, type SuiteOptions } from '../options';
import { RedisProcess, runScript } from '../processes/measured-process';
import { writeJson } from '../report';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { type Filling, fill } from './fill';
import { type DrainFigures, measureDrain, workerSettings } from './measure';
import { runScaleScenes } from './scale';

const ENDPOINTS = 10;
const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 1_000;

/** A worker that is measured: its program, and how its queue is filled. */
interface Contender {
  readonly name: string;
  readonly script: string;
  fill(filling: Filling): Promise<void>;
}

const plain: Contender = {
  name: 'plain worker',
  script: join(__dirname, 'plain-worker.js'),
  fill: fillPlainly,
};

function serviceOf(build: string): Contender {
  return { name: 'this service', script: join(build, 'apps/worker/dist/main.js'), fill };
}

const drainFigures: readonly Figure<DrainFigures>[] = [
  { name: 'deliveries per second', of: (r) => r.deliveriesPerSecond, atLeast: 1.2 },
  { name: 'worker CPU per delivery, µs', of: (r) => r.workerMicros },
  { name: 'Redis CPU per delivery, µs', of: (r) => r.redisMicros },
];

/** Draining a full queue with one worker, beside the hand-written one, in turn, so that the machine's moods even out. */
export async function runDrainSuite(options: SuiteOptions): Promise<void> {
  if (options.scene !== undefined) return await runScaleScenes(options);
  const deliveries = options.deliveries ?? (options.short ? DELIVERIES_SHORT : DELIVERIES);
  const result = await compare({
    title: `Draining ${deliveries} waiting deliveries, one worker`,
    rounds: roundsOf(options),
    sides: [plain, serviceOf(options.build)],
    figures: drainFigures,
    measure: (contenders) => inTurn(contenders, (contender) => drain(contender, deliveries)),
    inShort: ({ deliveriesPerSecond }) => `${Math.round(deliveriesPerSecond)} deliveries/s`,
  });
  await writeJson(options.json, result);
}

/** What fills the queue, in the place of this benchmark's own. */
export type DrainFilling = Partial<Pick<Filling, 'endpoints' | 'endpoint' | 'groups'>>;

/** What this service's worker makes of a queue that is full of so many deliveries. */
export async function drainService(
  build: string,
  deliveries: number,
  filling: DrainFilling | undefined,
  warmUp: number,
): Promise<DrainFigures> {
  return await drain(serviceOf(build), deliveries, filling, warmUp);
}

/** @param warmUp how many are delivered before the measurement begins */
async function drain(
  contender: Contender,
  deliveries: number,
  filling: DrainFilling = {},
  warmUp = 1,
): Promise<DrainFigures> {
  const redis = await RedisProcess.start();
  const { url: redisUrl } = redis;
  // An account for each endpoint.
  const usual = { redisUrl, deliveries, endpoints: ENDPOINTS, perAccount: 1 };
  try {
    return await measureDrain({
      redis: [redis],
      deliveries,
      fill: (receiverUrl) => contender.fill({ ...usual, receiverUrl, ...filling }),
      startWorkers: () => [runScript(contender.script, workerSettings(redisUrl))],
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

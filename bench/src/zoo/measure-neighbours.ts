import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { HealthyReceiver } from './healthy-receiver';
import type { ReceiversProcess } from './receivers-process';
import { Service } from './service';

export interface NeighbourOptions {
  readonly redisUrl: string;
  readonly receivers: ReceiversProcess;
  /** Endpoints that misbehave, of all kinds in turn. */
  readonly endpoints: number;
  /** Events for the healthy endpoint, in each of the two runs. */
  readonly events: number;
}

/** How long the healthy endpoint's events were under way, in milliseconds. */
export interface NeighbourResult {
  readonly quiet: readonly number[];
  readonly besideTheZoo: readonly number[];
}

const HEALTHY_EVERY_MS = 20;
// Each makes a delivery for every endpoint that misbehaves, beside those that are tried again.
const ZOO_EVERY_MS = 5_000;
const ZOO_EVENT_TYPE = 'brief.created';
const WARM_UP_EVENTS = 200;

/** What a healthy endpoint notices of many that misbehave, through the whole service. */
export async function measureNeighbours(options: NeighbourOptions): Promise<NeighbourResult> {
  const { redisUrl, receivers, events } = options;
  await emptyRedis(redisUrl);
  const service = await Service.start({
    redisUrl,
    environment: {
      DELIVERY_TIMEOUT: '5s',
      RETRY_SCHEDULE: '2s,5s,10s,30s',
      // The zoo and the healthy one.
      MAX_WEBHOOKS: String(options.endpoints + 1),
      ...(receivers.trustedFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: receivers.trustedFile }),
    },
  });
  const healthy = await HealthyReceiver.start(service);
  try {
    await healthy.receive(service, WARM_UP_EVENTS, HEALTHY_EVERY_MS);
    const quiet = await healthy.receive(service, events, HEALTHY_EVERY_MS);
    await registerZoo(service, options);
    const stop = new AbortController();
    const [besideTheZoo] = await Promise.all([
      healthy.receive(service, events, HEALTHY_EVERY_MS).finally(() => stop.abort()),
      publishToZoo(service, stop.signal),
    ]);
    return { quiet, besideTheZoo };
  } finally {
    await service.stop();
    healthy.stop();
  }
}

async function registerZoo(service: Service, { receivers, endpoints }: NeighbourOptions): Promise<void> {
  const urls: string[] = [];
  for (const { name } of receivers.kinds) urls.push(await receivers.open(name));
  for (let i = 0; i < endpoints; i += 1)
    await service.register(`${urls[i % urls.length]}/${i}`, ZOO_EVENT_TYPE);
}

async function publishToZoo(service: Service, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i += 1) {
    await service.publish(ZOO_EVENT_TYPE, { brief_id: `brf_${i}`, title: 'To those that misbehave' });
    await wait(ZOO_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

async function emptyRedis(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.flushdb();
  redis.disconnect();
}

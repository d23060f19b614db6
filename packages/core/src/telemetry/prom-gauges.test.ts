import { Registry } from 'prom-client';
import type { QueueDepth } from '../queue/bullmq-queue-depth';
import { registerPromEviction, registerPromQueueDepth } from './prom-gauges';

function buildRegistry(read: () => Promise<QueueDepth[]>): Registry {
  const registry = new Registry();
  registerPromQueueDepth(registry, { read });
  return registry;
}

async function samplesOf(registry: Registry): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

const waiting = { queue: 'events', state: 'wait', jobs: 7 } as const;
const failed = { queue: 'events', state: 'failed', jobs: 2 } as const;

describe('registerPromQueueDepth', () => {
  it('reads the depths anew for each scrape, and shows none that is no longer there', async () => {
    const depths: QueueDepth[][] = [[waiting, failed], [failed]];
    const registry = buildRegistry(async () => depths.shift() ?? []);
    expect(await samplesOf(registry)).toEqual([
      'webhooks_queue_jobs{queue="events",state="wait"} 7',
      'webhooks_queue_jobs{queue="events",state="failed"} 2',
    ]);
    expect(await samplesOf(registry)).toEqual(['webhooks_queue_jobs{queue="events",state="failed"} 2']);
  });

  it.each([
    ['can not be read', () => Promise.reject(new Error('gone'))],
    ['do not answer', () => new Promise<never>(() => {})],
  ])('answers the scrape without them when the queues %s', async (_what, read) => {
    expect(await samplesOf(buildRegistry(read))).toEqual([]);
  });
});

it.each([
  ['noeviction', ['webhooks_redis_evicts 0']],
  ['allkeys-lru', ['webhooks_redis_evicts 1']],
])('shows whether Redis evicts: %s', async (policy, samples) => {
  const registry = new Registry();
  registerPromEviction(registry, async () => `# Memory\r\nused_memory:1\r\nmaxmemory_policy:${policy}\r\n`);
  expect(await samplesOf(registry)).toEqual(samples);
});

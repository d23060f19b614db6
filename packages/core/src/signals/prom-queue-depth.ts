import { setTimeout as wait } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { QueueDepth } from '../queue/bullmq-queue-depth';

// A scrape must be answered also when Redis is away: then without these numbers, rather than not at all.
const PATIENCE_MS = 1_000;

/** Reads the depth of the queues whenever Prometheus asks. Every worker shows the same: take the maximum. */
export function registerPromQueueDepth(registry: Registry, source: { read(): Promise<QueueDepth[]> }): void {
  const gauge = new Gauge({
    name: 'webhooks_queue_jobs',
    help: 'Jobs in a queue, by state. The same for every worker: aggregate with max, not sum.',
    labelNames: ['queue', 'state'] as const,
    registers: [],
    async collect() {
      const depths = await Promise.race([source.read(), wait(PATIENCE_MS, [], { ref: false })]).catch(
        () => [],
      );
      gauge.reset();
      for (const { queue, state, jobs } of depths) gauge.set({ queue, state }, jobs);
    },
  });
  registry.registerMetric(gauge);
}

import { Gauge, type Registry } from 'prom-client';
import type { QueueDepth } from '../queue/bullmq-queue-depth';
import { inTime } from './prom-in-time';

/** Reads the depth of the queues whenever Prometheus asks. Every worker shows the same: take the maximum. */
export function registerPromQueueDepth(registry: Registry, source: { read(): Promise<QueueDepth[]> }): void {
  const gauge = new Gauge({
    name: 'webhooks_queue_jobs',
    help: 'Jobs in a queue, by state. The same for every worker: aggregate with max, not sum.',
    labelNames: ['queue', 'state'] as const,
    registers: [],
    async collect() {
      const depths = (await inTime(source.read())) ?? [];
      gauge.reset();
      for (const { queue, state, jobs } of depths) gauge.set({ queue, state }, jobs);
    },
  });
  registry.registerMetric(gauge);
}

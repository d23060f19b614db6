import { setTimeout as wait } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

// A scrape must be answered also when Redis is away: then without this number, rather than not at all.
const PATIENCE_MS = 1_000;

/** Counts what waits for the archive whenever Prometheus asks. Every worker shows the same: take the maximum. */
export function registerPromArchiveBacklog(registry: Registry, stream: { count(): Promise<number> }): void {
  const gauge = new Gauge({
    name: 'webhooks_archive_backlog',
    help: 'Attempts that wait to be archived. The same for every worker: aggregate with max, not sum.',
    registers: [],
    async collect() {
      const silence = wait(PATIENCE_MS, undefined, { ref: false });
      const count = await Promise.race([stream.count(), silence]).catch(() => undefined);
      if (count === undefined) gauge.remove();
      else gauge.set(count);
    },
  });
  registry.registerMetric(gauge);
}

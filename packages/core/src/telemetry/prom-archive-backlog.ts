import { Gauge, type Registry } from 'prom-client';
import { inTime } from './prom-in-time';

export interface ArchiveCounts {
  count(): Promise<number>;
  countAside(): Promise<number>;
}

/**
 * Counts what waits for the archive, and what it does not take, whenever Prometheus asks. Every worker shows the same: take
 * the maximum.
 */
export function registerPromArchiveBacklog(registry: Registry, stream: ArchiveCounts): void {
  registry.registerMetric(
    gaugeOf('webhooks_archive_backlog', 'Attempts that wait to be archived.', () => stream.count()),
  );
  registry.registerMetric(
    gaugeOf('webhooks_archive_put_aside', "Attempts that the archive's table did not take.", () =>
      stream.countAside(),
    ),
  );
}

function gaugeOf(name: string, help: string, count: () => Promise<number>): Gauge {
  return new Gauge({
    name,
    help: `${help} The same for every worker: aggregate with max, not sum.`,
    registers: [],
    async collect() {
      const counted = await inTime(count());
      if (counted === undefined) this.remove();
      else this.set(counted);
    },
  });
}

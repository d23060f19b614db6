import { Gauge, type Registry } from 'prom-client';
import type { QuotaStandings } from '../accounts/account-quota';
import { answerWithin } from '../kernel/within';
import type { QueueDepth } from '../queue/bullmq-queue-depth';

// A scrape must be answered also when Redis is away: then without the numbers that come from there.
const PATIENCE_MS = 1_000;

/** What was read for a scrape; `undefined` when that failed or took too long. */
async function inTime<Read>(reading: Promise<Read>): Promise<Read | undefined> {
  return await answerWithin(PATIENCE_MS, reading);
}

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

const POLICY = /^maxmemory_policy:(\S+)/m;

/** Shows whether Redis may throw away what was acknowledged. @param readMemory what Redis says of its memory. */
export function registerPromEviction(registry: Registry, readMemory: () => Promise<string>): void {
  const help =
    '1 when Redis throws data away once its memory is full: its maxmemory-policy is not noeviction.';
  registry.registerMetric(
    gaugeOf('webhooks_redis_evicts', help, async () => {
      const policy = POLICY.exec(await readMemory())?.[1];
      return policy === undefined || policy === 'noeviction' ? 0 : 1;
    }),
  );
}

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

/** Shows how accounts stand, as far as this process knows: it costs nothing to ask. */
export function registerPromAccountQuota(registry: Registry, standings: () => QuotaStandings): void {
  const help =
    'Accounts that this process heard of within the last hour. Each process has its own: aggregate with max, not sum.';
  registry.registerMetric(
    knownGaugeOf(
      'webhooks_accounts_used_bytes',
      `Bytes that are stored. ${help}`,
      () => standings().usedBytes,
    ),
  );
  registry.registerMetric(
    knownGaugeOf(
      'webhooks_accounts_near_quota',
      `Those that store 80 % or more of what they may. ${help}`,
      () => standings().near,
    ),
  );
  registry.registerMetric(
    knownGaugeOf(
      'webhooks_accounts_over_quota',
      `Those that store as much as they may. ${help}`,
      () => standings().over,
    ),
  );
}

function knownGaugeOf(name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, EVENTS_QUEUE } from '@hookferry/core/model/queue-names';
import {
  registerPromAccountQuota,
  registerPromArchiveBacklog,
  registerPromEviction,
  registerPromQueueDepth,
} from '@hookferry/core/telemetry/prom-gauges';
import { createPromApiMetrics, createPromWorkerMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { collectDefaultMetrics, Registry as PromRegistry, type Registry } from 'prom-client';

const PROJECT = join(__dirname, '..', '..');

interface Described {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

const registries = [apiRegistry(), workerRegistry()];
const metrics = registries.flatMap(describeMetrics);
const ours = metrics.filter(({ name }) => name.startsWith('webhooks_'));

describe('alerts.yml', () => {
  const alerts = readFileSync(join(PROJECT, 'docker/prometheus/alerts.yml'), 'utf8');

  it('asks only for metrics that there are', () => {
    const asked = alerts.match(/\b(webhooks|nodejs|process)_\w+/g) ?? [];
    expect(asked.filter((name) => !exists(name))).toEqual([]);
    expect(asked).not.toEqual([]);
  });

  it('asks only for queues that there are', () => {
    const asked = [...alerts.matchAll(/queue=~?"([^"]+)"/g)].flatMap(([, names = '']) => names.split('|'));
    const queues: readonly string[] = [EVENTS_QUEUE, DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE];
    expect(asked.filter((queue) => !queues.includes(queue))).toEqual([]);
    expect(asked).not.toEqual([]);
  });
});

describe('docs/operations.md', () => {
  const page = readFileSync(join(PROJECT, 'docs/operations.md'), 'utf8');

  it('lists every metric of ours with its type and labels, and no other', () => {
    const listed = [...page.matchAll(/^\| `(webhooks_\w+)` *\| (\w+) *\| ([^|]+?) *\|/gm)].map(
      ([, name, type, labels]) => `${name} ${type} ${labels}`,
    );
    expect(listed.toSorted()).toEqual([...new Set(ours.map(describeRow))].toSorted());
  });

  it('speaks of no metric that there is not', () => {
    const named = page.match(/\bwebhooks_\w+/g) ?? [];
    expect(named.filter((name) => !exists(name))).toEqual([]);
  });
});

function describeRow({ name, type, labels }: Described): string {
  return `${name} ${type} ${labels.length === 0 ? '–' : labels.map((label) => `\`${label}\``).join(', ')}`;
}

// A histogram is a metric with three names.
function exists(name: string): boolean {
  return metrics.some(
    (metric) =>
      metric.name === name ||
      (metric.type === 'histogram' && name.replace(/_(bucket|count|sum)$/, '') === metric.name),
  );
}

function apiRegistry(): Registry {
  const registry = new PromRegistry();
  collectDefaultMetrics({ register: registry });
  createPromApiMetrics(registry);
  registerPromAccountQuota(registry, () => ({ usedBytes: 0, near: 0, over: 0 }));
  return registry;
}

function workerRegistry(): Registry {
  const registry = new PromRegistry();
  collectDefaultMetrics({ register: registry });
  createPromWorkerMetrics(registry);
  registerPromAccountQuota(registry, () => ({ usedBytes: 0, near: 0, over: 0 }));
  registerPromQueueDepth(registry, { read: async () => [] });
  registerPromEviction(registry, async () => '');
  registerPromArchiveBacklog(registry, { count: async () => 0, countAside: async () => 0 });
  return registry;
}

function describeMetrics(registry: Registry): Described[] {
  return registry.getMetricsAsArray().map(({ name, type }) => ({
    name,
    type: String(type),
    labels: (registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] }).labelNames,
  }));
}

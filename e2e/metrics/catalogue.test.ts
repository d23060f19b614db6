import type { MetricDefinition } from '@hookferry/core/telemetry/prom-gauges';
import { apiMetrics, workerMetrics } from '@hookferry/core/telemetry/prom-registry';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { addressOf, Stack } from '../support/stack';
import { until } from '../support/until';
import { type ExposedSample, type Exposition, readExposition } from './read-exposition';

let stack: Stack;
let receiver: Receiver;
let scrapes: readonly { readonly metrics: readonly MetricDefinition[]; readonly seen: Exposition }[];
beforeAll(async () => {
  stack = await Stack.start();
  receiver = await Receiver.start();
  await stack.client.register(receiver.url);
  await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await receiver.waitFor(1);
  const [worker] = stack.workers;
  if (!worker) throw new Error('There is no worker.');
  scrapes = [
    { metrics: apiMetrics, seen: await readExposition(await addressOf(stack.api)) },
    { metrics: workerMetrics, seen: await untilDelivered(await addressOf(worker)) },
  ];
});
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
});

async function untilDelivered(address: string): Promise<Exposition> {
  return await until(async () => {
    const seen = await readExposition(address);
    const delivered = seen.samples.find(
      ({ name, labels }) => name === 'webhooks_deliveries_ended_total' && labels.status === 'delivered',
    );
    return delivered?.value === 1 ? seen : undefined;
  });
}

it('has each metric of ours that processes serve, with its type and meaning, and no other', () => {
  for (const { metrics, seen } of scrapes) {
    const served = seen.families.filter(({ name }) => name.startsWith('webhooks_'));
    const known = metrics.map(({ name, type, help }) => ({ name, type, help }));
    expect(served.toSorted(byName)).toEqual(known.toSorted(byName));
  }
});

it('has each label that a metric is served with, and each value of those that are a closed set', () => {
  for (const { metrics, seen } of scrapes) {
    const ours = seen.samples.filter(({ name }) => name.startsWith('webhooks_'));
    expect(ours.filter((sample) => !isAllowed(sample, metrics))).toEqual([]);
    expect(ours).not.toEqual([]);
  }
});

function isAllowed({ name, labels }: ExposedSample, metrics: readonly MetricDefinition[]): boolean {
  const metric = metrics.find((each) => each.name === name || each.name === familyOf(name));
  const { le: _, ...own } = labels;
  if (!metric || Object.keys(own).join() !== Object.keys(metric.labels).join()) return false;
  return Object.entries(own).every(([label, value]) => {
    const values = metric.labels[label] ?? [];
    return typeof values === 'string' || values.includes(value);
  });
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function familyOf(name: string): string {
  return name.replace(/_(bucket|count|sum)$/, '');
}

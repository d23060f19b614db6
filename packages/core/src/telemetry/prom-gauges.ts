import { Gauge, type Registry } from 'prom-client';
import { answerWithin } from '../kernel/within';
import type { MetricDefinition, MetricLabels } from './metric-definition';

// A scrape must be answered also when Redis is away: then without the numbers that come from there.
const PATIENCE_MS = 1_000;

/** A number with the labels that it is for. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a gauge shows, read whenever Prometheus asks. Nothing, rather than what was shown before, if it can't be read in time. */
export function registerPromGauge(
  registry: Registry,
  { name, help, labels }: MetricDefinition,
  read: () => Promise<readonly Sample[]>,
): void {
  const labelNames = Object.keys(labels);
  const gauge = new Gauge<string>({
    name,
    help,
    labelNames,
    registers: [],
    async collect() {
      const samples = (await answerWithin(PATIENCE_MS, read())) ?? [];
      // Of one without labels `reset` would leave a zero.
      if (labelNames.length === 0) this.remove();
      else this.reset();
      for (const sample of samples) this.set({ ...sample.labels }, sample.value);
    },
  });
  registry.registerMetric(gauge);
}

/** What all gauges have in common. */
export function gaugeDefinition(name: string, help: string, labels: MetricLabels = {}): MetricDefinition {
  return { name, type: 'gauge', help, labels };
}

/** The one sample of a gauge without labels. */
export function one(value: number): readonly Sample[] {
  return [{ labels: {}, value }];
}

import { Gauge, type Registry } from 'prom-client';
import { answerWithin } from '../platform/timers';

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

/** A metric as it is documented: docs/metrics.md is made from these. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  /** In full sentences, for people: what it counts, its unit, and how to add up what several processes say. */
  readonly help: string;
  readonly labels: MetricLabels;
}

/** The labels by their names. None is ever an id, or there would be a time series for each. */
export type MetricLabels = Readonly<Record<string, LabelValues>>;

/** All values that a label can have, or, of those that come from elsewhere, what bounds them. */
export type LabelValues = readonly string[] | string;

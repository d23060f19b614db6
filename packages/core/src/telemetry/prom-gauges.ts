import { Gauge, type Registry } from 'prom-client';
import { answerWithin } from '../platform/timers';

/** A metric as it is documented: docs/metrics.md is generated from these. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  /**
   * In full sentences, for people: what it counts, its unit, and how to add up the numbers of several
   * processes.
   */
  readonly help: string;
  readonly labels: MetricLabels;
}

/** The labels by their names. No label is an id, or each id would have a time series. */
export type MetricLabels = Readonly<Record<string, LabelValues>>;

/** All values that a label can have or, if they come from elsewhere, their bound. */
export type LabelValues = readonly string[] | string;

/** A number with its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The value of a gauge: one number if it has no labels, else a sample for each of their values; nothing, if
 * it is missing.
 */
type Shown = number | readonly Sample[];

/** A gauge, and how it is read. */
export interface PromGauge<Sources> extends MetricDefinition {
  readonly read: (sources: Sources) => Shown | Promise<Shown>;
}

interface GaugeOptions<Sources> {
  readonly name: string;
  readonly help: string;
  readonly labels?: MetricLabels;
  readonly read: PromGauge<Sources>['read'];
}

export function gauge<Sources>({ labels = {}, ...options }: GaugeOptions<Sources>): PromGauge<Sources> {
  return { ...options, type: 'gauge', labels };
}

// A scrape must also be served while Redis is away: then without the numbers from Redis.
const PATIENCE_MS = 1_000;

/**
 * Read gauges whenever Prometheus scrapes. One that can't be read in time is missing, rather than as it was
 * before.
 */
export function registerPromGauges<Sources>(
  registry: Registry,
  gauges: readonly PromGauge<Sources>[],
  sources: Sources,
): void {
  for (const { name, help, labels, read } of gauges) {
    const labelNames = Object.keys(labels);
    const registered = new Gauge<string>({
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        const shown = (await answerWithin(PATIENCE_MS, (async () => await read(sources))())) ?? [];
        // For a gauge without labels `reset` would leave a zero.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const sample of samplesOf(shown)) this.set({ ...sample.labels }, sample.value);
      },
    });
    registry.registerMetric(registered);
  }
}

export function samplesOf(shown: Shown): readonly Sample[] {
  return typeof shown === 'number' ? [{ labels: {}, value: shown }] : shown;
}

import { Gauge, type Registry } from 'prom-client';
import { answerWithin } from '../platform/timers';

/** A metric as it is documented: docs/metrics.md is made from these. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  /** In full sentences, for people: what it counts, its unit, and how to add up the numbers of several processes. */
  readonly help: string;
  readonly labels: MetricLabels;
}

/** The labels by their names. None is ever an id, or there would be a time series for each. */
export type MetricLabels = Readonly<Record<string, LabelValues>>;

/** All values that a label can have, or, of those that come from elsewhere, what bounds them. */
export type LabelValues = readonly string[] | string;

/** A number with the labels that it is for. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a gauge shows: one number if it has no labels, else a sample for each of their values; nothing, if it is missing. */
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

// A scrape must be answered also when Redis is away: then without the numbers that come from there.
const PATIENCE_MS = 1_000;

/** Reads gauges whenever Prometheus asks. One that can't be read in time is missing, rather than as it was before. */
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
        // Of one without labels `reset` would leave a zero.
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

import { Counter, Histogram, type Registry } from 'prom-client';
import type { Signal, SignalListener } from '../model/signal';

type Named<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

/** Registers a metric, and gives who tells it of signals. */
export type SignalMetric = (registry: Registry) => SignalListener;

interface MetricOptions<Name extends Signal['name']> {
  readonly name: string;
  readonly help: string;
  /** The members of the signal that it is split by: from closed sets, never ids. */
  readonly labels?: readonly (keyof Named<Name> & string)[];
}

interface CounterOptions<Name extends Signal['name']> extends MetricOptions<Name> {
  /**
   * Values of its one label that stand at zero from the start. Or `increase()` would miss the first of each: the exhausted
   * delivery that an alert is about.
   */
  readonly fromZero?: readonly string[];
  /** What a signal adds; by default one. */
  readonly amountOf?: (signal: Named<Name>) => number;
}

interface SecondsOptions<Name extends Signal['name']> extends MetricOptions<Name> {
  readonly buckets: number[];
  /** `undefined`: the signal does not count. */
  readonly durationMsOf: (signal: Named<Name>) => number | undefined;
}

/** Counts signals of a name. */
export function counterOf<Name extends Signal['name']>(
  on: Name,
  { name, help, labels = [], fromZero = [], amountOf = () => 1 }: CounterOptions<Name>,
): SignalMetric {
  return (registry) => {
    const counter = new Counter<string>({ name, help, labelNames: labels, registers: [registry] });
    for (const value of fromZero) counter.inc(Object.fromEntries(labels.map((label) => [label, value])), 0);
    return listenTo(on, (signal) => counter.inc(labelsOf<Name>(signal, labels), amountOf(signal)));
  };
}

/** How long something took that signals of a name tell of. */
export function secondsOf<Name extends Signal['name']>(
  on: Name,
  { name, help, labels = [], buckets, durationMsOf }: SecondsOptions<Name>,
): SignalMetric {
  return (registry) => {
    const histogram = new Histogram<string>({
      name,
      help,
      labelNames: labels,
      buckets,
      registers: [registry],
    });
    return listenTo(on, (signal) => {
      const durationMs = durationMsOf(signal);
      if (durationMs !== undefined) histogram.observe(labelsOf<Name>(signal, labels), durationMs / 1_000);
    });
  };
}

function listenTo<Name extends Signal['name']>(
  on: Name,
  take: (signal: Named<Name>) => void,
): SignalListener {
  const isOne = (signal: Signal): signal is Named<Name> => signal.name === on;
  return (signal) => {
    if (isOne(signal)) take(signal);
  };
}

function labelsOf<Name extends Signal['name']>(
  signal: Named<Name>,
  labels: readonly (keyof Named<Name> & string)[],
): Record<string, string> {
  // There are some for each delivery: by way of entries they would cost three times as much.
  const values: Record<string, string> = {};
  for (const label of labels) values[label] = String(signal[label]);
  return values;
}

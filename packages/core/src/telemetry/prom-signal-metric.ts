import { Counter, Histogram, type Registry } from 'prom-client';
import type { Signal, SignalListener } from '../model/signal';
import type { LabelValues, MetricDefinition, MetricLabels } from './metric-definition';

type Named<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

/** A metric that is made of signals. */
export interface SignalMetric {
  readonly definition: MetricDefinition;
  /** Gives who tells it of signals. */
  register(registry: Registry): SignalListener;
}

type Member<Name extends Signal['name']> = keyof Named<Name> & string;

interface MetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  /** The members of the signal that it is split by: from closed sets, never ids. */
  readonly labels?: Readonly<Record<Label, LabelValues>>;
}

interface CounterOptions<Name extends Signal['name'], Label extends string> extends MetricOptions<Label> {
  /**
   * Whether all values of its labels stand at zero from the start. Or `increase()` would miss the first of each: the
   * exhausted delivery that an alert is about.
   */
  readonly fromZero?: true;
  /** What a signal adds; by default one. */
  readonly amountOf?: (signal: Named<Name>) => number;
}

interface SecondsOptions<Name extends Signal['name'], Label extends string> extends MetricOptions<Label> {
  readonly buckets: number[];
  /** `undefined`: the signal does not count. */
  readonly durationMsOf: (signal: Named<Name>) => number | undefined;
}

/** Counts signals of a name. */
export function counterOf<Name extends Signal['name'], Label extends Member<Name> = never>(
  on: Name,
  { name, help, labels, fromZero, amountOf = () => 1 }: CounterOptions<Name, Label>,
): SignalMetric {
  const definition: MetricDefinition = { name, type: 'counter', help, labels: { ...labels } };
  const labelNames = Object.keys(definition.labels);
  return {
    definition,
    register(registry) {
      const counter = new Counter<string>({ name, help, labelNames, registers: [registry] });
      for (const start of fromZero ? valuesOf(definition.labels) : []) counter.inc(start, 0);
      return listenTo(on, (signal) => {
        const amount = amountOf(signal);
        if (amount > 0) counter.inc(labelsOf(signal, labelNames), amount);
      });
    },
  };
}

/** How long something took that signals of a name tell of. */
export function secondsOf<Name extends Signal['name'], Label extends Member<Name> = never>(
  on: Name,
  { name, help, labels, buckets, durationMsOf }: SecondsOptions<Name, Label>,
): SignalMetric {
  const definition: MetricDefinition = { name, type: 'histogram', help, labels: { ...labels } };
  const labelNames = Object.keys(definition.labels);
  return {
    definition,
    register(registry) {
      const histogram = new Histogram<string>({ name, help, labelNames, buckets, registers: [registry] });
      return listenTo(on, (signal) => {
        const durationMs = durationMsOf(signal);
        if (durationMs !== undefined) histogram.observe(labelsOf(signal, labelNames), durationMs / 1_000);
      });
    },
  };
}

/** Each value of each label with each of the others. */
function valuesOf(labels: MetricLabels): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    const known = typeof values === 'string' ? [] : values;
    all = all.flatMap((each) => known.map((value) => ({ ...each, [label]: value })));
  }
  return all;
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

function labelsOf(signal: Signal, labels: readonly string[]): Record<string, string> {
  // There are some for each delivery: by way of entries they would cost three times as much.
  const values: Record<string, string> = {};
  for (const label of labels) values[label] = String(Reflect.get(signal, label));
  return values;
}

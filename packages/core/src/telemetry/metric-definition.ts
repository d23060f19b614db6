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

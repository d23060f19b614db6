export interface SuiteOptions {
  /** A Redis of the benchmark's own, which it empties. */
  readonly redisUrl: string;
  /** A quick look instead of figures to rely on. */
  readonly short: boolean;
  /** How many to load, instead of the benchmark's own number. */
  readonly deliveries?: number;
}

export interface SuiteOptions {
  /** A Redis of the benchmark's own, which it empties. */
  readonly redisUrl: string;
  /** A quick look instead of figures to rely on. */
  readonly short: boolean;
  /** How many to load, instead of the benchmark's own number. */
  readonly deliveries?: number;
  /** The checkout whose apps/{api,worker}/dist are measured: an absolute path. */
  readonly build: string;
  /** The file that the figures are written to as well, for programs to read. */
  readonly json?: string;
  /** How often each measurement is made, instead of the benchmark's own number. */
  readonly rounds?: number;
  /** How long each measurement lasts, instead of the benchmark's own time. */
  readonly seconds?: number;
  /** How many shards the queues are split over, where that can be chosen. */
  readonly shards?: number;
  /** The one scene to measure, instead of all. */
  readonly scene?: string;
  /** How long receivers take on average, in milliseconds, where that can be chosen: each of these in turn. */
  readonly receiverMs?: readonly number[];
  /** How many webhooks the events are spread over, where that can be chosen: each of these in turn. */
  readonly webhooks?: readonly number[];
  /** How many processes beside it are busy all the time, where that can be chosen: each of these in turn. */
  readonly busy?: readonly number[];
  /** Measures `path` with all the receivers that its aims are about. */
  readonly receivers?: boolean;
  /** The cases of `path` whose own cost is measured. */
  readonly scenes?: readonly string[];
  /** Measures `path` with an Idempotency-Key of its own for each request. */
  readonly idempotencyKeys?: boolean;
  /** The folder for CPU profiles, which are then made instead of measuring. */
  readonly profile?: string;
}

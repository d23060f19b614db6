import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { keys } from '../domain/keys';
import { hourOf } from '../endpoints/health/attempt-tally';
import { chunksOf } from '../platform/batches';
import { parsedOrUndefined } from '../platform/json';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { addLoads, addSample } from './redis-day-store.script';

export const HOUR_MS = 3_600_000;
const HOURS_KEPT = 24;
/** How long a sample stands for: samples are taken at multiples of it. */
export const SAMPLE_EVERY_MS = 300_000;

/** The measures of each account. `transformMs`: processor time of its transformations. */
const loadMeasures = ['events', 'bytes', 'transformMs'] as const;
export type LoadMeasure = (typeof loadMeasures)[number];
export type Load = Readonly<Record<LoadMeasure, number>>;

/** A sum to add to. */
export function noLoad(): Record<LoadMeasure, number> {
  return { events: 0, bytes: 0, transformMs: 0 };
}

export function addLoad(sum: Record<LoadMeasure, number>, load: Load): void {
  for (const measure of loadMeasures) sum[measure] += load[measure];
}

/** The usage of accounts within an hour: those with the highest values of each measure. */
export interface HourOfLoads {
  /** Milliseconds since the Unix epoch. */
  readonly start: number;
  readonly loads: ReadonlyMap<AccountId, Load>;
}

const shardSchema = z.object({ waiting: z.number(), delayed: z.number(), held: z.number() });

const sampleSchema = z.object({
  /** Milliseconds since the Unix epoch. */
  at: z.number(),
  /** Of all queues, in the order of the shards. `delayed` includes `held`. */
  shards: z.array(shardSchema),
  oldestWaitedMs: z.number(),
  workers: z.number(),
  /** Attempts that were under way in all workers, and as many as might be. */
  slots: z.object({ inUse: z.number(), allowed: z.number() }),
  attemptsPerSecond: z.number(),
});
/** How queues and workers were at one moment. */
export type OperationsSample = Readonly<z.infer<typeof sampleSchema>>;

// Accounts of the present hour are all counted, up to this many; of hours that are over those with most stay.
const MOST_ACCOUNTS = 10_000;
const MOST_ACCOUNTS_OF_PAST = 1_000;
// A script of more would hold up others.
const ACCOUNTS_AT_ONCE = 500;

const scoresSchema = z.array(z.string());

/** What operators see of the last day: what accounts used in each hour, and samples of queues and workers. */
export class DayStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /**
   * Not idempotent: a repetition counts twice.
   * @param now milliseconds since the Unix epoch; its hour is counted.
   * @param patienceMs how long it may wait to go to Redis together with other scripts.
   */
  async addLoads(loads: ReadonlyMap<AccountId, Load>, now: number, patienceMs = 0): Promise<void> {
    const hour = hourOf(now);
    const hours = [...keysOfHour(hour), ...keysOfHour(hour - 1)];
    const bounds = {
      keptMs: (HOURS_KEPT + 1) * HOUR_MS,
      most: MOST_ACCOUNTS,
      mostOfPast: MOST_ACCOUNTS_OF_PAST,
    };
    for (const some of chunksOf([...loads], ACCOUNTS_AT_ONCE)) {
      const accounts = some.map(([id]) => id);
      const each = some.flatMap(([, load]) => loadMeasures.map((measure) => load[measure]));
      await this.atomic([addLoads({ hours, accounts, loads: each, ...bounds })], patienceMs);
    }
  }

  /** Of the last 24 hours, the oldest first. */
  async readLoads(now: number): Promise<readonly HourOfLoads[]> {
    const last = hourOf(now);
    const hours = Array.from({ length: HOURS_KEPT + 1 }, (_, i) => last - HOURS_KEPT + i);
    return await Promise.all(
      hours.map(async (hour) => ({ start: hour * HOUR_MS, loads: await this.#readHour(hour) })),
    );
  }

  async #readHour(hour: number): Promise<ReadonlyMap<AccountId, Load>> {
    const loads = new Map<AccountId, Record<LoadMeasure, number>>();
    const found = await Promise.all(
      keysOfHour(hour).map((key) => this.redis.zrange(key, '0', '-1', 'WITHSCORES')),
    );
    for (const [i, measure] of loadMeasures.entries()) {
      const scores = scoresSchema.parse(found[i]);
      for (let at = 0; at < scores.length; at += 2) {
        const id = accountIdSchema.parse(scores[at]);
        const load = loads.get(id) ?? noLoad();
        load[measure] = Number(scores[at + 1]);
        loads.set(id, load);
      }
    }
    return loads;
  }

  /** An account that is erased. */
  async forgetLoads(id: AccountId, now: number): Promise<void> {
    const last = hourOf(now);
    const hours = Array.from({ length: HOURS_KEPT + 2 }, (_, i) => last - i);
    await Promise.all(hours.flatMap(keysOfHour).map((key) => this.redis.zrem(key, id)));
  }

  /** Whether a sample of this time is still to be taken. */
  async lacksSample(at: number): Promise<boolean> {
    return (await this.redis.hexists(keys.operationsSamples, numberOf(at))) === 0;
  }

  /** Of several for the same time the first one counts. */
  async addSample(sample: OperationsSample): Promise<void> {
    const oldest = Number(numberOf(sample.at)) - (HOURS_KEPT * HOUR_MS) / SAMPLE_EVERY_MS;
    const number = numberOf(sample.at);
    const keptMs = HOURS_KEPT * HOUR_MS;
    await addSample({ number, sample: JSON.stringify(sample), oldest, keptMs })(this.redis);
  }

  /** The oldest first. One that a later version has written in another form is left out. */
  async readSamples(now: number): Promise<readonly OperationsSample[]> {
    const texts = await this.redis.hvals(keys.operationsSamples);
    return texts
      .flatMap((text) => sampleSchema.safeParse(parsedOrUndefined(text)).data ?? [])
      .filter(({ at }) => at > now - HOURS_KEPT * HOUR_MS)
      .toSorted((a, b) => a.at - b.at);
  }
}

/** Where the last day of hours begins. Milliseconds since the Unix epoch. */
export const startOfDay = (now: number) => (hourOf(now) - HOURS_KEPT) * HOUR_MS;
const keysOfHour = (hour: number) => loadMeasures.map((measure) => keys.accountLoads(measure, hour));
const numberOf = (at: number) => String(Math.floor(at / SAMPLE_EVERY_MS));

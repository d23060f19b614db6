import type { AccountId } from '../domain/account';
import { type Clock, steadyClock } from '../platform/clock';
import { createKeepFor } from '../platform/timers';
import { type TakeSampleContext, takeSample } from './day-sampler';
import {
  addLoad,
  type DayStore,
  type HourOfLoads,
  type Load,
  type LoadMeasure,
  noLoad,
  type OperationsSample,
} from './redis-day-store';

/** The usage of an account within the last day. */
export interface HeavyAccount extends Load {
  readonly accountId: AccountId;
  /** Hours in which it used nothing are left out. The oldest first. */
  readonly hours: readonly (Load & { readonly start: number })[];
}

export interface DayReaderContext extends TakeSampleContext {
  readonly dayStore: Pick<DayStore, 'readLoads' | 'readSamples'>;
  readonly clock: Clock;
}

// However many pages show it.
const SAMPLES_KEPT_MS = 5_000;
const LOADS_KEPT_MS = 10_000;

/** Reads the last day, as operators see it. */
export class DayReader {
  /** The samples that were taken, and one of now. */
  readonly readSamples: () => Promise<readonly OperationsSample[]>;
  readonly #readLoads: () => Promise<readonly HourOfLoads[]>;

  constructor(context: DayReaderContext) {
    const { dayStore, clock } = context;
    this.readSamples = createKeepFor(
      SAMPLES_KEPT_MS,
      async () => {
        const [samples, now] = await Promise.all([dayStore.readSamples(clock()), takeSample(context)]);
        return [...samples, now];
      },
      steadyClock,
    );
    this.#readLoads = createKeepFor(LOADS_KEPT_MS, () => dayStore.readLoads(clock()), steadyClock);
  }

  /** The accounts that used most of it within the last 24 hours, the first one most. Those without any are left out. */
  async heaviestAccounts(by: LoadMeasure, limit: number): Promise<readonly HeavyAccount[]> {
    const hours = await this.#readLoads();
    const sums = new Map<AccountId, number>();
    for (const { loads } of hours) {
      for (const [id, load] of loads) sums.set(id, (sums.get(id) ?? 0) + load[by]);
    }
    return [...sums]
      .filter(([, sum]) => sum > 0)
      .toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
      .slice(0, limit)
      .map(([accountId]) => accountOf(accountId, hours));
  }
}

function accountOf(accountId: AccountId, all: readonly HourOfLoads[]): HeavyAccount {
  const hours = all.flatMap(({ start, loads }) => {
    const load = loads.get(accountId);
    return load ? [{ start, ...load }] : [];
  });
  const sum = noLoad();
  for (const hour of hours) addLoad(sum, hour);
  return { accountId, ...sum, hours };
}

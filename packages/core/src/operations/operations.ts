import type { AccountQuota } from '../accounts/account-quota';
import type { AccountStore } from '../accounts/redis-account-store';
import type { PausedAccount, PauseStore } from '../accounts/redis-pause-store';
import type { AccountId } from '../domain/account';
import { phaseOf } from '../domain/breaker';
import type { HoldReason } from '../domain/delivery';
import {
  type DisabledReason,
  decodeAddress,
  type Endpoint,
  type EndpointAddress,
  type EndpointId,
} from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { Pause } from '../domain/pause';
import type { AccountUsage } from '../domain/usage';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { EndpointHealth } from '../endpoints/health/endpoint-health';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DisabledEndpoints, OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import { isUnreadableSecret, type SealedValue } from '../endpoints/seal';
import type { PgDatabase } from '../history/database/pg-database';
import { readBytes } from '../history/database/pg-usage';
import { AppError } from '../platform/app-error';
import { type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import { type Clock, steadyClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { readRedisSafety } from '../platform/redis-safety';
import { idOfMember, type Mark, readNewestFirst } from '../platform/redis-timeline';
import { createKeepFor } from '../platform/timers';
import type { AccountWaiting, QueueStandings, QueueState } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import { checkReadiness, type ReadinessFinding, type ReadinessOfApi } from './check-readiness';
import {
  addLoad,
  type DayStore,
  type HourOfLoads,
  type Load,
  type LoadMeasure,
  noLoad,
  type OperationsSample,
} from './redis-day-store';
import type { Rollback, RollbackStore } from './redis-rollbacks';
import type { SeenWorker, WorkerReports } from './redis-worker-reports';

/** How much an account stores. */
export interface WholeUsage {
  /** In Redis. */
  readonly usage: AccountUsage;
  /** In PostgreSQL. `null` while it is away; `undefined` without a history. */
  readonly historyBytes: number | null | undefined;
}

export interface OperationsParts {
  readonly redis: RedisClient;
  readonly standings: QueueStandings;
  readonly heldCounts: HeldCounts;
  readonly workerReports: WorkerReports;
  readonly openBreakers: OpenBreakers;
  readonly disabledEndpoints: DisabledEndpoints;
  readonly endpointStore: EndpointStore;
  readonly admissionStore: AdmissionStore;
  readonly accountStore: AccountStore;
  readonly pauseStore: PauseStore;
  readonly rollbackStore: RollbackStore;
  readonly endpointHealth: EndpointHealth;
  readonly quota: AccountQuota;
  /** Absent: there is no history. */
  readonly historyDatabase?: PgDatabase | undefined;
  readonly dayStore: DayStore;
  readonly clock: Clock;
}

/** The state of the whole service. */
export interface ServiceState {
  readonly queues: readonly (QueueState & { readonly pause: Pause | undefined })[];
  readonly deadLetters: number;
  readonly heldByReason: Readonly<Record<HoldReason, number>>;
  /** The rates of all workers together, in the last seconds. */
  readonly attemptsPerSecond: number;
  readonly workers: readonly SeenWorker[];
  readonly openBreakers: number;
  readonly disabledEndpoints: number;
  readonly busiestAccounts: readonly (AccountWaiting & { readonly weight: number })[];
  /** Some of them where there are very many. The last paused first. */
  readonly pausedAccounts: readonly PausedAccount[];
  /** When Redis went back to an earlier state: the last times, the newest first. */
  readonly rollbacks: readonly Rollback[];
}

/** The states that keep an endpoint from getting its deliveries for a longer time. */
export const stoppedStates = ['breaker_open', 'disabled'] as const;
export type StoppedState = (typeof stoppedStates)[number];

/** An endpoint in such a state. */
export interface StoppedEndpoint {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  /** `undefined`: its record can't be read. */
  readonly url: string | undefined;
  readonly state: StoppedState;
  /** Why it is disabled. For a breaker the reason is always failed attempts. */
  readonly disabledReason: DisabledReason | undefined;
  /** How many attempts in a row have failed, of a breaker. */
  readonly failures: number | undefined;
  /** Since when it is disabled, or fails; `undefined` if not recorded. */
  readonly since: number | undefined;
}

/** The usage of an account within the last day. */
export interface HeavyAccount extends Load {
  readonly accountId: AccountId;
  /** Hours in which it used nothing are left out. The oldest first. */
  readonly hours: readonly (Load & { readonly start: number })[];
}

// However many pages show it.
const STATE_KEPT_MS = 1_000;
const SAMPLES_KEPT_MS = 5_000;
const LOADS_KEPT_MS = 10_000;
const MOST_ACCOUNTS = 10;
// Operators pause few; a page of the portal shows them all.
const MOST_PAUSED_ACCOUNTS = 100;

const ACCOUNTS_TRIED = 10;

/** How the service is, now and within the last day. */
export class Operations {
  /** The state of the whole service, read once a second at most. */
  readonly read: () => Promise<ServiceState>;
  /** The samples of the last day, and one of now. */
  readonly readSamples: () => Promise<readonly OperationsSample[]>;
  readonly #readLoads: () => Promise<readonly HourOfLoads[]>;

  constructor(private readonly parts: OperationsParts) {
    const { dayStore, clock } = parts;
    this.read = createKeepFor(STATE_KEPT_MS, () => this.#readState(), steadyClock);
    this.readSamples = createKeepFor(
      SAMPLES_KEPT_MS,
      async () => {
        const [samples, now] = await Promise.all([dayStore.readSamples(clock()), this.#takeSample()]);
        return [...samples, now];
      },
      steadyClock,
    );
    this.#readLoads = createKeepFor(LOADS_KEPT_MS, () => dayStore.readLoads(clock()), steadyClock);
  }

  // No part gets more expensive with more data: counters, and a bounded number of jobs.
  async #readState(): Promise<ServiceState> {
    const { standings, heldCounts, workerReports, openBreakers, pauseStore, rollbackStore, clock } =
      this.parts;
    const now = clock();
    const [
      { queues, deadLetters },
      heldByReason,
      workers,
      breakers,
      disabledEndpoints,
      busiest,
      pausedAccounts,
      rollbacks,
    ] = await Promise.all([
      standings.read(now),
      heldCounts.read(),
      workerReports.list(),
      openBreakers.count(now),
      this.parts.endpointHealth.countDisabled(),
      standings.busiestAccounts(MOST_ACCOUNTS),
      pauseStore.listAccounts(MOST_PAUSED_ACCOUNTS),
      rollbackStore.list(),
    ]);
    return {
      queues: await Promise.all(queues.map((queue) => this.#withPause(queue))),
      deadLetters,
      heldByReason,
      attemptsPerSecond: sumOf(workers.map(({ attemptsPerSecond }) => attemptsPerSecond)),
      workers,
      openBreakers: breakers,
      disabledEndpoints,
      busiestAccounts: await Promise.all(busiest.map((account) => this.#withWeight(account))),
      pausedAccounts,
      rollbacks,
    };
  }

  // The queue itself says whether it is paused: by a process that ended in between, or by an earlier version, without a record.
  async #withPause(queue: QueueState) {
    const { pauseStore } = this.parts;
    const pause = queue.isPaused ? await pauseStore.find({ kind: 'queue', id: queue.name }) : undefined;
    return { ...queue, pause };
  }

  async #withWeight(account: AccountWaiting) {
    const { weight = 1 } = (await this.parts.accountStore.find(account.accountId)) ?? {};
    return { ...account, weight };
  }

  /** Record how queues and workers are now, unless there is a sample of these five minutes. */
  async recordSample(): Promise<void> {
    const { dayStore, clock } = this.parts;
    if (await dayStore.lacksSample(clock())) await dayStore.addSample(await this.#takeSample());
  }

  // By counters, and a bounded number of jobs.
  async #takeSample(): Promise<OperationsSample> {
    const { standings, heldCounts, workerReports, clock } = this.parts;
    const at = clock();
    const [{ queues }, held, workers] = await Promise.all([
      standings.read(at),
      heldCounts.readByShard(),
      workerReports.list(),
    ]);
    const budgets = workers.flatMap(({ slots }) => [slots.quick, slots.slow]);
    return {
      at,
      shards: held.map((byReason, shard) => {
        const own = queues.filter((queue) => queue.shard === shard);
        return {
          waiting: sumOf(own.map(({ waiting }) => waiting)),
          delayed: sumOf(own.map(({ delayed }) => delayed)),
          held: sumOf(Object.values(byReason)),
        };
      }),
      oldestWaitedMs: Math.max(0, ...queues.map(({ oldestWaitedMs }) => oldestWaitedMs)),
      workers: workers.length,
      slots: {
        inUse: sumOf(budgets.map(({ inUse }) => inUse)),
        allowed: sumOf(budgets.map(({ allowed }) => allowed)),
      },
      attemptsPerSecond: sumOf(workers.map(({ attemptsPerSecond }) => attemptsPerSecond)),
    };
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
      .map(([accountId]) => heavyAccountOf(accountId, hours));
  }

  /**
   * List the stopped endpoints of all accounts, from the indexes. Disabled ones: the last disabled first. Open
   * breakers: those that stay open longest first.
   */
  async listStopped(state: StoppedState, limit: number, before?: Mark): Promise<Page<StoppedEndpoint, Mark>> {
    const { disabledEndpoints, openBreakers, clock } = this.parts;
    const now = clock();
    return await scanPage({
      limit,
      before,
      mostScanned: SCANNED_ONE_BY_ONE,
      readBatch: async (size, from: Mark | undefined) => {
        const more = size + 1;
        const found =
          state === 'disabled'
            ? await disabledEndpoints.list(more, from)
            : await openBreakers.list(now, more, from);
        const entries = found.slice(0, size);
        return { entries, nextCursor: found.length > size ? entries.at(-1) : undefined };
      },
      cursorOf: (mark) => mark,
      show: (mark) => (state === 'disabled' ? this.#showDisabled(mark) : this.#showBreaker(mark)),
    });
  }

  // An index may have a stale entry. The endpoint's own record decides.
  async #showDisabled({ id, at }: Mark): Promise<StoppedEndpoint | undefined> {
    const address = decodeAddress(id);
    const endpoint = await this.#findEndpoint(address);
    if (!endpoint || endpoint.status === 'enabled') return undefined;
    const { url, disabledReason } = endpoint;
    return { ...address, url, state: 'disabled', disabledReason, failures: undefined, since: at };
  }

  async #showBreaker({ id }: Mark): Promise<StoppedEndpoint | undefined> {
    const address = decodeAddress(id);
    const [endpoint, breaker] = await Promise.all([
      this.#findEndpoint(address),
      this.parts.admissionStore.readBreaker(address.endpointId),
    ]);
    if (!endpoint || phaseOf(breaker, this.parts.clock()) === 'closed') return undefined;
    const { url } = endpoint;
    const { failures, failingSince: since } = breaker;
    return { ...address, url, state: 'breaker_open', disabledReason: undefined, failures, since };
  }

  async #findEndpoint({ accountId, endpointId }: EndpointAddress): Promise<Partial<Endpoint> | undefined> {
    return await this.parts.endpointStore.find(accountId, endpointId).catch((error: unknown) => {
      if (isUnreadableSecret(error)) return {};
      throw error;
    });
  }

  /**
   * What this installation lacks for production.
   *
   * @param api what only the API that is asked knows.
   * @throws Error of Redis when it can't be reached.
   */
  async readReadiness(api: ReadinessOfApi): Promise<readonly ReadinessFinding[]> {
    const { redis, workerReports, clock } = this.parts;
    const [safety, workers, opensSecrets] = await Promise.all([
      readRedisSafety(redis),
      workerReports.list(),
      this.#opensSecrets(),
    ]);
    return checkReadiness({ ...api, opensSecrets }, safety, workers, clock());
  }

  // The latest webhooks of the latest accounts: a key that is wrong for all shows there, and a search through all would cost too much.
  async #opensSecrets(): Promise<boolean> {
    const { redis, endpointStore } = this.parts;
    const { members } = await readNewestFirst(redis, keys.accountIds, ACCOUNTS_TRIED);
    for (const accountId of members.map(idOfMember) as AccountId[]) {
      const { value: latest = [] } = await endpointStore.sealedValues(accountId).next();
      if (!(latest as readonly SealedValue[]).every(isReadable)) return false;
    }
    return true;
  }

  /** How much each account stores. */
  async readUsages(ids: readonly AccountId[]): Promise<readonly WholeUsage[]> {
    const historyBytes = await this.#readHistoryBytes(ids);
    const usages = await Promise.all(ids.map((id) => this.parts.quota.look(id)));
    return usages.map((usage, i) => ({ usage, historyBytes: historyBytes[i] }));
  }

  async #readHistoryBytes(ids: readonly AccountId[]): Promise<readonly WholeUsage['historyBytes'][]> {
    const { historyDatabase } = this.parts;
    if (!historyDatabase) return ids.map(() => undefined);
    try {
      return await readBytes(historyDatabase, ids);
    } catch (error) {
      if (error instanceof AppError && error.code === 'history_unavailable') return ids.map(() => null);
      throw error;
    }
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function heavyAccountOf(accountId: AccountId, all: readonly HourOfLoads[]): HeavyAccount {
  const hours = all.flatMap(({ start, loads }) => {
    const load = loads.get(accountId);
    return load ? [{ start, ...load }] : [];
  });
  const sum = noLoad();
  for (const hour of hours) addLoad(sum, hour);
  return { accountId, ...sum, hours };
}

function isReadable({ value, reseal }: SealedValue): boolean {
  try {
    reseal(value);
    return true;
  } catch (error) {
    if (isUnreadableSecret(error)) return false;
    throw error;
  }
}

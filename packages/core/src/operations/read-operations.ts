import type { AccountStore } from '../accounts/redis-account-store';
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
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DisabledEndpoints, OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import { isUnreadableSecret } from '../endpoints/seal';
import { type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import { type Clock, steadyClock } from '../platform/clock';
import type { Mark } from '../platform/redis-timeline';
import { createKeepFor } from '../platform/timers';
import type { AccountWaiting, QueueStandings, QueueState } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import type { SeenWorker, WorkerReports } from './redis-worker-reports';

/** The state of the whole service. */
export interface Operations {
  readonly queues: readonly QueueState[];
  readonly deadLetters: number;
  readonly heldByReason: Readonly<Record<HoldReason, number>>;
  /** The rates of all workers together, in the last seconds. */
  readonly attemptsPerSecond: number;
  readonly workers: readonly SeenWorker[];
  readonly openBreakers: number;
  readonly disabledEndpoints: number;
  readonly busiestAccounts: readonly (AccountWaiting & { readonly weight: number })[];
}

export interface ReadOperationsContext {
  readonly standings: Pick<QueueStandings, 'read' | 'busiestAccounts'>;
  readonly heldCounts: Pick<HeldCounts, 'read'>;
  readonly workerReports: Pick<WorkerReports, 'list'>;
  readonly openBreakers: Pick<OpenBreakers, 'count'>;
  readonly countDisabled: () => Promise<number>;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly clock: Clock;
}

// However many pages show it.
const KEPT_MS = 1_000;
const MOST_ACCOUNTS = 10;

/** Reads the state of the whole service, once a second at most. */
export class OperationsReader {
  readonly read: () => Promise<Operations>;

  constructor(context: ReadOperationsContext) {
    this.read = createKeepFor(KEPT_MS, () => readOperations(context), steadyClock);
  }
}

// No part gets more expensive with more data: counters, and a bounded number of jobs.
async function readOperations(context: ReadOperationsContext): Promise<Operations> {
  const { standings, heldCounts, workerReports, openBreakers, countDisabled, clock } = context;
  const now = clock();
  const [queues, heldByReason, workers, breakers, disabledEndpoints, busiest] = await Promise.all([
    standings.read(now),
    heldCounts.read(),
    workerReports.list(),
    openBreakers.count(now),
    countDisabled(),
    standings.busiestAccounts(MOST_ACCOUNTS),
  ]);
  return {
    ...queues,
    heldByReason,
    attemptsPerSecond: workers.reduce((sum, worker) => sum + worker.attemptsPerSecond, 0),
    workers,
    openBreakers: breakers,
    disabledEndpoints,
    busiestAccounts: await Promise.all(busiest.map((account) => withWeight(context, account))),
  };
}

async function withWeight({ accountStore }: ReadOperationsContext, account: AccountWaiting) {
  const { weight = 1 } = (await accountStore.find(account.accountId)) ?? {};
  return { ...account, weight };
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

export interface ListStoppedContext {
  readonly disabledEndpoints: Pick<DisabledEndpoints, 'list'>;
  readonly openBreakers: Pick<OpenBreakers, 'list'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly admissionStore: Pick<AdmissionStore, 'readBreaker'>;
  readonly clock: Clock;
}

/**
 * List the stopped endpoints of all accounts, for operators, from the indexes. Disabled ones: the last
 * disabled first. Open breakers: those that stay open longest first.
 */
export async function listStopped(
  context: ListStoppedContext,
  state: StoppedState,
  limit: number,
  before?: Mark,
): Promise<Page<StoppedEndpoint, Mark>> {
  const { disabledEndpoints, openBreakers, clock } = context;
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
    show: (mark) => (state === 'disabled' ? showDisabled : showBreaker)(context, mark),
  });
}

// An index may have a stale entry. The endpoint's own record decides.
async function showDisabled(
  context: ListStoppedContext,
  { id, at }: Mark,
): Promise<StoppedEndpoint | undefined> {
  const address = decodeAddress(id);
  const endpoint = await findEndpoint(context, address);
  if (!endpoint || endpoint.status === 'enabled') return undefined;
  const { url, disabledReason } = endpoint;
  return { ...address, url, state: 'disabled', disabledReason, failures: undefined, since: at };
}

async function showBreaker(context: ListStoppedContext, { id }: Mark): Promise<StoppedEndpoint | undefined> {
  const address = decodeAddress(id);
  const [endpoint, breaker] = await Promise.all([
    findEndpoint(context, address),
    context.admissionStore.readBreaker(address.endpointId),
  ]);
  if (!endpoint || phaseOf(breaker, context.clock()) === 'closed') return undefined;
  const { url } = endpoint;
  const { failures, failingSince: since } = breaker;
  return { ...address, url, state: 'breaker_open', disabledReason: undefined, failures, since };
}

async function findEndpoint(
  { endpointStore }: ListStoppedContext,
  { accountId, endpointId }: EndpointAddress,
): Promise<Partial<Endpoint> | undefined> {
  return await endpointStore.find(accountId, endpointId).catch((error: unknown) => {
    if (isUnreadableSecret(error)) return {};
    throw error;
  });
}

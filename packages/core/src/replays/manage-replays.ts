import type { AccountId } from '../domain/account';
import type { EndpointRef } from '../domain/endpoint';
import {
  hasEnded,
  type Replay,
  type ReplayId,
  type ReplayOrder,
  type ReplayProgress,
} from '../domain/replay';
import type { Emit } from '../domain/signal';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { ReplayQueue } from '../queue/bullmq-work-queues';
import type { ReplayPage, ReplayStore } from './redis-replay-store';

export interface ManageReplaysDeps extends CancelReplayDeps {
  readonly endpointStore: Pick<EndpointStore, 'idOf' | 'find'>;
  readonly replayStore: ReplayStore;
  readonly replayQueue: Pick<ReplayQueue, 'add'>;
}

/** Each looks at every event of its range, again and again: dry runs as well. */
const MOST_RUNNING = 2;

export type NewReplay = Omit<ReplayOrder, 'accountId' | 'endpointId'>;

/** What a client can do with replays. */
export function createManageReplays(deps: ManageReplaysDeps) {
  const { replayStore, replayQueue, clock } = deps;
  const cancelReplay = createCancelReplay(deps);

  /** @throws AppError `not_found`, also for another account's. */
  async function read(accountId: AccountId, id: ReplayId): Promise<Replay> {
    const replay = await replayStore.find(id);
    if (replay?.accountId !== accountId) {
      throw new AppError('not_found', 'There is no replay with this id.');
    }
    return replay;
  }

  return {
    read,

    /**
     * Creating one under the same id again gives the one that is there.
     *
     * @throws AppError `not_found`; `replays_running` when there are two that have not ended.
     */
    async create(accountId: AccountId, ref: EndpointRef, input: NewReplay): Promise<Replay> {
      const order = { ...input, accountId, endpointId: await requireEndpoint(deps, accountId, ref) };
      if (!(await replayStore.takePlace(order, MOST_RUNNING, clock()))) throw tooManyRunning();
      // In this order: what is on the queue comes on record in any case, but nobody would queue what is only on record.
      await replayQueue.add(order);
      await replayStore.create(order);
      return await read(accountId, order.id);
    },

    /** Newest first. @throws AppError `not_found`. */
    async list(accountId: AccountId, ref: EndpointRef, limit: number, before?: string): Promise<ReplayPage> {
      return await replayStore.list(await requireEndpoint(deps, accountId, ref), limit, before);
    },

    /**
     * What was enqueued by then is delivered; nothing more is. One that has ended stays as it is.
     *
     * @throws AppError `not_found`.
     */
    async cancel(accountId: AccountId, id: ReplayId): Promise<void> {
      await read(accountId, id);
      await cancelReplay(id);
    },
  };
}

export type ManageReplays = ReturnType<typeof createManageReplays>;

function tooManyRunning(): AppError {
  return new AppError(
    'replays_running',
    `An account may have ${MOST_RUNNING} replays at a time, dry runs included. Wait for one to end, or cancel it.`,
  );
}

export interface CancelReplayDeps {
  readonly replayStore: Pick<ReplayStore, 'find' | 'save'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Ends a replay. One that has ended, or that there is not, stays as it is. */
export function createCancelReplay({ replayStore, clock, emit }: CancelReplayDeps) {
  return async function cancelReplay(id: ReplayId): Promise<void> {
    const replay = await replayStore.find(id);
    if (!replay || hasEnded(replay)) return;
    const { found, enqueued, erased } = replay;
    const ended: ReplayProgress = { status: 'cancelled', found, enqueued, erased, finishedAt: clock() };
    if (await replayStore.save(id, ended)) announceReplayEnd(emit, { ...replay, ...ended });
  };
}

export type CancelReplay = ReturnType<typeof createCancelReplay>;

/** Says that a replay has come to its end. */
export function announceReplayEnd(
  emit: Emit,
  { id, accountId, endpointId, mode, found, enqueued, status }: Replay,
): void {
  if (status === 'counting' || status === 'running') return;
  emit({ name: 'replay.ended', replayId: id, accountId, endpointId, mode, status, found, enqueued });
}

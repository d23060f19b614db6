import type { EndpointId, EndpointRef } from '../endpoints/endpoint';
import { endpointNotFound } from '../endpoints/manage-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { announceReplayEnd } from './announce-replay-end';
import type { ReplayPage, ReplayStore } from './redis-replay-store';
import { hasEnded, type Replay, type ReplayId, type ReplayOrder, type ReplayProgress } from './replay';

/** The queue of replays. Adding the same one again is harmless. */
export interface ReplayQueue {
  add(id: ReplayId): Promise<void>;
}

export interface ManageReplaysDeps {
  readonly endpointStore: Pick<EndpointStore, 'idOf' | 'find'>;
  readonly replayStore: ReplayStore;
  readonly replayQueue: ReplayQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type NewReplay = Omit<ReplayOrder, 'accountId' | 'endpointId'>;

/** What a client can do with replays. */
export function createManageReplays(deps: ManageReplaysDeps) {
  const { endpointStore, replayStore, replayQueue, clock, emit } = deps;

  /** @throws AppError `not_found`, also for another account's. */
  async function read(accountId: AccountId, id: ReplayId): Promise<Replay> {
    const replay = await replayStore.find(id);
    if (replay?.accountId !== accountId) {
      throw new AppError('not_found', 'There is no replay with this id.');
    }
    return replay;
  }

  async function idOf(accountId: AccountId, ref: EndpointRef): Promise<EndpointId> {
    const id = await endpointStore.idOf(accountId, ref);
    if (!id || !(await endpointStore.find(accountId, id))) throw endpointNotFound();
    return id;
  }

  return {
    read,

    /** Creating one under the same id again gives the one that is there. @throws AppError `not_found`. */
    async create(accountId: AccountId, ref: EndpointRef, input: NewReplay): Promise<Replay> {
      const order = { ...input, accountId, endpointId: await idOf(accountId, ref) };
      await replayStore.create(order);
      await replayQueue.add(order.id);
      return await read(accountId, order.id);
    },

    /** Newest first. @throws AppError `not_found`. */
    async list(accountId: AccountId, ref: EndpointRef, limit: number, before?: string): Promise<ReplayPage> {
      return await replayStore.list(await idOf(accountId, ref), limit, before);
    },

    /**
     * What was enqueued by then is delivered; nothing more is. One that has ended stays as it is.
     *
     * @throws AppError `not_found`.
     */
    async cancel(accountId: AccountId, id: ReplayId): Promise<void> {
      const replay = await read(accountId, id);
      if (hasEnded(replay)) return;
      const { found, enqueued, erased } = replay;
      const ended: ReplayProgress = { status: 'cancelled', found, enqueued, erased, finishedAt: clock() };
      if (await replayStore.save(id, ended)) announceReplayEnd(emit, { ...replay, ...ended });
    },
  };
}

export type ManageReplays = ReturnType<typeof createManageReplays>;

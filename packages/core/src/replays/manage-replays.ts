import type { Recorded } from '../accounts/audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
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

export interface CreateReplayContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly replayStore: Pick<ReplayStore, 'admit' | 'create' | 'find'>;
  readonly replayQueue: Pick<ReplayQueue, 'add'>;
  readonly clock: Clock;
}

/** Each one reads all events of its range several times, dry runs as well. */
const MOST_RUNNING = 2;

export type NewReplay = Omit<ReplayOrder, 'accountId' | 'endpointId'>;

/**
 * Create a replay of an endpoint's events. Creating one under the same id again gives the existing one.
 *
 * @throws AppError `not_found`; `replays_running` when two replays have not ended yet.
 */
export async function createReplay(
  context: CreateReplayContext,
  accountId: AccountId,
  ref: EndpointRef,
  input: NewReplay,
  act?: Act,
): Promise<Replay> {
  const { replayStore, replayQueue, clock } = context;
  const order = { ...input, accountId, endpointId: await requireEndpoint(context, accountId, ref) };
  if (!(await replayStore.admit(order, MOST_RUNNING, clock(), act))) throw tooManyRunning();
  // In this order: the job records the replay in any case, but nothing would queue a replay that is only
  // recorded.
  await replayQueue.add(order);
  await replayStore.create(order);
  return await readReplay(context, accountId, order.id);
}

function tooManyRunning(): AppError {
  return new AppError(
    'replays_running',
    `An account may have ${MOST_RUNNING} replays at a time, dry runs included. Wait for one to end, or cancel it.`,
  );
}

/** @throws AppError `not_found`, also for another account's. */
export async function readReplay(
  { replayStore }: { readonly replayStore: Pick<ReplayStore, 'find'> },
  accountId: AccountId,
  id: ReplayId,
): Promise<Replay> {
  const replay = await replayStore.find(id);
  if (replay?.accountId !== accountId) throw new AppError('not_found', 'There is no replay with this id.');
  return replay;
}

export interface ListReplaysContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly replayStore: Pick<ReplayStore, 'list'>;
}

/** List an endpoint's replays, newest first. @throws AppError `not_found`. */
export async function listReplays(
  context: ListReplaysContext,
  accountId: AccountId,
  ref: EndpointRef,
  limit: number,
  before?: string,
): Promise<ReplayPage> {
  return await context.replayStore.list(await requireEndpoint(context, accountId, ref), limit, before);
}

export interface EndReplayContext {
  readonly replayStore: Pick<ReplayStore, 'find' | 'save'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Cancel a replay: deliveries that are enqueued by then are sent, and no further ones. A replay that has
 * ended stays as it is.
 *
 * @throws AppError `not_found`.
 */
export async function cancelReplay(
  context: EndReplayContext,
  accountId: AccountId,
  id: ReplayId,
  act?: Act,
): Promise<void> {
  await readReplay(context, accountId, id);
  await endReplay(context, id, act && { act, accountId, targetId: id });
}

/** End a replay of any account. A replay that has ended, or does not exist, stays as it is. */
export async function endReplay(
  { replayStore, clock, emit }: EndReplayContext,
  id: ReplayId,
  recorded?: Recorded,
): Promise<void> {
  const replay = await replayStore.find(id);
  if (!replay || hasEnded(replay)) return;
  const { found, enqueued, erased } = replay;
  const ended: ReplayProgress = { status: 'cancelled', found, enqueued, erased, finishedAt: clock() };
  if (await replayStore.save(id, ended, recorded)) announceReplayEnd(emit, { ...replay, ...ended });
}

/** Announce that a replay has ended. */
export function announceReplayEnd(
  emit: Emit,
  { id, accountId, endpointId, mode, found, enqueued, status }: Replay,
): void {
  if (status === 'counting' || status === 'running') return;
  emit({ name: 'replay.ended', replayId: id, accountId, endpointId, mode, status, found, enqueued });
}

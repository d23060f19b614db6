import { deliver } from '@hookferry/core/deliver/deliver';
import { deliverBatchAgain } from '@hookferry/core/deliver/deliver-batch';
import { type DeliverResult, DONE, ELSEWHERE } from '@hookferry/core/deliver/end-run';
import { BEHIND_MS } from '@hookferry/core/deliver/lane';
import type { AttemptParts } from '@hookferry/core/deliver/open-delivery';
import {
  type DeliveryRun,
  type JobEnd,
  type LaneRun,
  parseDeliveryId,
} from '@hookferry/core/domain/delivery';
import { DELIVERIES_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { RunningBatches } from '@hookferry/core/queue/bullmq-running-batches';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import { type OwnedLane, RunningLanes } from '@hookferry/core/queue/bullmq-running-lanes';
import type { DeliveryJob } from '@hookferry/core/queue/delivery-job';
import type { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import type { Job } from 'bullmq';
import type { SharedCapacity } from '../capacity';
import { JobBatch, laneRunOf, ownRunOf } from './bullmq-delivery-runs';
import { DeliveryWorker } from './bullmq-delivery-worker';
import { announceFailures, type OpenWorkerParts, workerOptionsOf } from './bullmq-open-worker';
import {
  notADelivery,
  type OwnedJob,
  type TakenBatch,
  type TakenEntry,
  type TakenLane,
} from './bullmq-owned-job';
import { delayTooNew, giveJobBack } from './bullmq-put-back';

export interface DeliveryWorkerParts extends OpenWorkerParts {
  readonly attemptParts: AttemptParts;
  readonly placement: DeliveryPlacement;
  /** Over all shards together. */
  readonly deliveryCapacity: SharedCapacity;
  /** How long `stop` lets running attempts finish. Milliseconds. */
  readonly stopDeadlineMs: number;
}

/** What the runs of one shard's deliveries work with. */
interface ShardParts extends DeliveryWorkerParts {
  readonly worker: DeliveryWorker;
  readonly shard: QueueShard;
  readonly runningLanes: RunningLanes;
}

// In step with an attempt that another shard keeps waiting, a move and a run could find each other at work each time.
const MOVE_LATER = { kind: 'later', delayMs: 300 } as const;

/** Open the worker of a shard's deliveries: each run of a job makes one attempt, and says what happens to the job next. */
export function openDeliveryWorker(parts: DeliveryWorkerParts, shard: QueueShard): DeliveryWorker {
  const { redis, atomic, lockDurationMs, deliveryCapacity: capacity, stopDeadlineMs, emit } = parts;
  const { clock, besideLanes } = parts.attemptParts;
  const { placement } = parts;
  const runningLanes = new RunningLanes(redis, shard, clock);
  const worker: DeliveryWorker = new DeliveryWorker(
    DELIVERIES_QUEUE,
    // With a third parameter, BullMQ reports here when the job is cancelled.
    (job, token, abortSignal) => takeJob(own, job, token, abortSignal ?? new AbortController().signal),
    {
      ...workerOptionsOf(parts, { queue: DELIVERIES_QUEUE, shard, capacity, stopDeadlineMs }),
      lockDuration: lockDurationMs,
      runningJobs: new RunningJobs(redis, shard, lockDurationMs, clock, () => placement.isOneShard),
      runningLanes,
      besideLanes,
      runningBatches: new RunningBatches(redis, shard, lockDurationMs, clock),
      dueDeliveries: new DueDeliveries({ prefix: shard.prefix, atomic, clock, emit }),
      clock,
    },
  );
  const own: ShardParts = { ...parts, shard, worker, runningLanes };
  announceFailures(worker, emit);
  return worker;
}

async function takeJob(
  parts: ShardParts,
  job: Job<DeliveryJob>,
  token: string | undefined,
  abortSignal: AbortSignal,
): Promise<JobEnd> {
  await delayTooNew(job, token, parts.emit);
  const result = await runJob(parts, job, abortSignal);
  switch (result.kind) {
    case 'done':
      return result;
    case 'retry':
      return { kind: 'delayed', delayMs: result.delayMs, failure: result.reason };
    case 'later':
      return { kind: 'delayed', delayMs: result.delayMs };
    case 'interrupted':
      return await giveJobBack(job, token);
  }
}

async function runJob(
  parts: ShardParts,
  job: Job<DeliveryJob>,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { placement, shard, worker } = parts;
  const owned = worker.ownedOf(job);
  const { batch, lane } = owned;
  if (batch) return await runBatch(parts, owned, batch, abortSignal);
  if (lane) return await runLane(parts, owned, lane, abortSignal);
  const run = readRun(parts, owned);
  if (placement.isInHomeShard(run, shard)) return await attempt(parts, run, abortSignal);
  return (await placement.moveHome(run)) ? DONE : MOVE_LATER;
}

// Only this product's fan-out adds such jobs, so an unreadable one is kept among the failed, for people.
function readRun({ attemptParts }: ShardParts, owned: OwnedJob): DeliveryRun {
  const ids = parseDeliveryId(owned.job.id ?? '');
  if (!ids) throw notADelivery();
  // While processes of the version before run, it joins a lane only where one is.
  const onlyIfThere = attemptParts.formerOrder !== undefined;
  return ownRunOf(owned, ids, (lane, acceptedAt, place) => {
    const { account_id: accountId, request: stored } = owned.data;
    const request = stored && JSON.stringify(stored);
    const how = { hasBegun: place === 'keeps_turn', isInBatches: place === 'in_batches' };
    return owned.joinLane({ ...ids, accountId, lane, acceptedAt, request, ...how }, onlyIfThere);
  });
}

const MOVED_AT_ONCE = 500;

async function runLane(
  parts: ShardParts,
  owned: OwnedJob,
  { head, owned: lane }: TakenLane,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { placement, shard } = parts;
  if (!hasEvent(head)) return DONE;
  if (!placement.isInHomeShard(lane, shard)) return await moveLane(parts, owned, lane, head);
  if (head.turn === 'behind_event' && !head.isInBatches) return { kind: 'later', delayMs: BEHIND_MS };
  const waits = !head.isInBatches && !head.hadBegun && !placement.isStable;
  if (waits && (await isBehindElsewhere(parts, head, lane))) {
    return { kind: 'later', delayMs: BEHIND_MS };
  }
  const run = laneRunOf(owned, lane, head, new JobBatch(owned, placement.isStable), owned.texts);
  return await attempt(parts, run, abortSignal);
}

function hasEvent(head: TakenLane['head']): head is TakenEntry {
  return head.eventId !== undefined;
}

/** First the events: what they bring meanwhile is in a lane then. */
async function isBehindElsewhere(
  { attemptParts, placement, shard }: ShardParts,
  { eventId, place: acceptedAt }: TakenEntry,
  lane: OwnedLane,
): Promise<boolean> {
  const asked = { accountId: lane.accountId, id: eventId, acceptedAt };
  const isBehindEvent = await attemptParts.oldestEvents.hasOlder(asked);
  return isBehindEvent || (await placement.hasOlderElsewhere(lane, shard, { eventId, acceptedAt }));
}

async function runBatch(
  parts: ShardParts,
  owned: OwnedJob,
  { members, owned: itself }: TakenBatch,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { attemptParts, placement, shard } = parts;
  const batch = new JobBatch(owned, true);
  const isHome = placement.isInHomeShard(itself, shard);
  if (isHome && placement.isStable) return await deliverBatchAgain(attemptParts, batch, abortSignal);
  // While queues are split again, each delivery goes by itself: another shard may have it too.
  const end = { kind: isHome ? 'alone' : 'done' } as const;
  if (!isHome && !(await moveMembers(parts, batch))) return MOVE_LATER;
  await parts.atomic(batch.stepsToEnd(members.map(({ eventId }) => ({ eventId, end }))));
  return DONE;
}

/** Gives whether all have jobs in their home shard, so that the batch may go. */
async function moveMembers({ placement }: ShardParts, batch: JobBatch): Promise<boolean> {
  const runs = await batch.gather({ most: Number.MAX_SAFE_INTEGER, maxBytes: 0, isInOrder: false });
  const moved = runs.map(async (run) => await placement.moveHome(run));
  return !(await Promise.all(moved)).includes(false);
}

async function moveLane(
  { placement, runningLanes }: ShardParts,
  owned: OwnedJob,
  lane: OwnedLane,
  head: TakenEntry,
): Promise<DeliverResult> {
  const entries = await runningLanes.list(lane.lane, 0, MOVED_AT_ONCE);
  const events = await placement.moveEntriesHome(lane, entries, head);
  if (events.length === 0 && entries.length > 0) return MOVE_LATER;
  await owned.endBy(runningLanes.forget(lane, events));
  return DONE;
}

async function attempt(
  parts: ShardParts,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { attemptParts, placement, shard } = parts;
  const claim = <Result>(some: DeliveryRun, act: () => Promise<Result>) => placement.work(some, shard, act);
  const joinElsewhere = (some: DeliveryRun, lane: LaneRun) => placement.joinElsewhere(some, shard, lane);
  const hasTurnElsewhere = (some: DeliveryRun, lane: LaneRun) =>
    placement.hasTurnElsewhere(some, shard, lane.name);
  const claiming = placement.isStable
    ? attemptParts
    : { ...attemptParts, claim, joinElsewhere, hasTurnElsewhere };
  const result = await claim(run, () => deliver(claiming, run, abortSignal));
  return result === 'elsewhere' ? ELSEWHERE : result;
}

import { ERASURES_QUEUE, type QueueShard, REPLAYS_QUEUE } from '@hookferry/core/domain/queues';
import { replayOrderSchema } from '@hookferry/core/domain/replay';
import type { AccountErasure } from '@hookferry/core/operations/erase-account';
import { type ErasureJob, erasureJobSchema } from '@hookferry/core/queue/bullmq-work-queues';
import type { Replays, StepResult } from '@hookferry/core/replays/replays';
import { type Job, UnrecoverableError } from 'bullmq';
import { SharedCapacity } from '../capacity';
import { type OpenWorkerParts, openWorker } from './bullmq-open-worker';
import { countStartsAnew, delayJob, delayTooNew, orTryAgainSoon } from './bullmq-put-back';
import type { BullmqWorker } from './bullmq-worker';

const REPLAY_CONCURRENCY = 8;

/** Open the worker of replays. */
export function openReplayWorker(
  parts: OpenWorkerParts,
  replays: Replays,
  shard: QueueShard,
): BullmqWorker<unknown> {
  const options = { queue: REPLAYS_QUEUE, shard, concurrency: REPLAY_CONCURRENCY };
  return openStepwiseWorker(parts, options, async (job) => {
    const order = replayOrderSchema.safeParse(job.data);
    if (!order.success) throw new UnrecoverableError('Not a replay job.');
    return await replays.step(order.data);
  });
}

const ERASURE_CONCURRENCY = 2;

/** Open the worker of accounts that are being erased. */
export function openErasureWorker(
  parts: OpenWorkerParts,
  erasure: AccountErasure,
  shard: QueueShard,
): BullmqWorker<ErasureJob> {
  const options = { queue: ERASURES_QUEUE, shard, concurrency: ERASURE_CONCURRENCY };
  return openStepwiseWorker<ErasureJob>(parts, options, async (job) => {
    const data = erasureJobSchema.safeParse(job.data);
    if (!data.success) throw new UnrecoverableError('Not an erasure job.');
    const { account_id, place } = data.data;
    const result = await erasure.step(account_id, place);
    if (result.kind === 'again' && result.cursor) await job.updateData({ account_id, place: result.cursor });
    return result;
  });
}

interface StepwiseWorkerOptions {
  readonly queue: string;
  readonly shard: QueueShard;
  readonly concurrency: number;
}

/**
 * Open a worker that does one step of a job for each run, and puts the job back for the next one. None is
 * urgent.
 */
export function openStepwiseWorker<Data>(
  parts: OpenWorkerParts,
  { queue, shard, concurrency }: StepwiseWorkerOptions,
  step: (job: Job<Data>) => Promise<StepResult>,
): BullmqWorker<Data> {
  const { redis, lockDurationMs, emit } = parts;
  const capacity = new SharedCapacity(concurrency);
  const options = { queue, shard, capacity, stalledCheckMs: lockDurationMs };
  return openWorker<Data>(parts, options, async (job, token) => {
    await delayTooNew(job, token, emit);
    const work = async () => {
      const result = await step(job);
      // Redis may refuse this while it is out of memory.
      if (result.kind === 'again') await countStartsAnew(job, { redis, shard });
      return result;
    };
    const result = await orTryAgainSoon(work, job, token, emit);
    if (result.kind === 'again') await delayJob(job, token, result.delayMs);
  });
}

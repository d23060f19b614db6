import type { AccountId } from '@hookferry/core/domain/account';
import { ERASURES_QUEUE, REPLAYS_QUEUE } from '@hookferry/core/domain/queues';
import { type ReplayOrder, replayOrderSchema } from '@hookferry/core/domain/replay';
import type { ErasureCursor, ErasureStepResult } from '@hookferry/core/operations/erase-account';
import { type ErasureJob, erasureJobSchema } from '@hookferry/core/queue/bullmq-work-queues';
import type { StepResult } from '@hookferry/core/replays/step-replay';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, type ConsumerOptions, createConsumer } from './bullmq-open-worker';
import { delayTooNew, orTryAgainSoon, putBackForNextStep } from './bullmq-put-back';

export interface ErasureConsumerOptions extends ConsumerOptions {
  readonly stepErasure: (accountId: AccountId, cursor?: ErasureCursor) => Promise<ErasureStepResult>;
}

/** Takes accounts that are being erased off the queue, one step a job run, and puts each back until its next step. */
export function createErasureConsumer(options: ErasureConsumerOptions): Consumer {
  return createConsumer<ErasureJob>(ERASURES_QUEUE, processStep, options);

  async function processStep(job: Job<ErasureJob>, token: string | undefined): Promise<void> {
    await delayTooNew(job, token, options.emit);
    const data = erasureJobSchema.safeParse(job.data);
    if (!data.success) throw new UnrecoverableError('Not an erasure job.');
    const { account_id: accountId, place } = data.data;
    const step = async () => {
      const stepped = await options.stepErasure(accountId, place);
      if (stepped.kind === 'again' && stepped.cursor) {
        await job.updateData({ account_id: accountId, place: stepped.cursor });
      }
      return stepped;
    };
    const result = await orTryAgainSoon(step, job, token, options.emit);
    if (result.kind === 'again') await putBackForNextStep(job, token, result.delayMs, options);
  }
}

export interface ReplayConsumerOptions extends ConsumerOptions {
  readonly stepReplay: (order: ReplayOrder) => Promise<StepResult>;
}

/** Takes replays off the queue, one step a job run, and puts each back until its next step. */
export function createReplayConsumer(options: ReplayConsumerOptions): Consumer {
  return createConsumer(REPLAYS_QUEUE, processStep, options);

  async function processStep(job: Job, token: string | undefined): Promise<void> {
    await delayTooNew(job, token, options.emit);
    const order = replayOrderSchema.safeParse(job.data);
    if (!order.success) throw new UnrecoverableError('Not a replay job.');
    const step = () => options.stepReplay(order.data);
    const result = await orTryAgainSoon(step, job, token, options.emit);
    if (result.kind === 'again') await putBackForNextStep(job, token, result.delayMs, options);
  }
}

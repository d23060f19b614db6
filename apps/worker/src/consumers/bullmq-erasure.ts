import type { StepErasure } from '@hookferry/core/manage/step-erasure';
import { ERASURES_QUEUE } from '@hookferry/core/model/queue-names';
import { type ErasureJob, erasureJobSchema } from '@hookferry/core/queue/erasure-job';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, createConsumer } from './bullmq-consumer';
import { delayTooNew } from './bullmq-delay-too-new';
import type { ConsumerOptions } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';
import { putBackForNextStep } from './bullmq-put-back-for-next-step';

export interface ErasureConsumerOptions extends ConsumerOptions {
  readonly stepErasure: StepErasure;
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
      if (stepped.kind === 'again' && stepped.place) {
        await job.updateData({ account_id: accountId, place: stepped.place });
      }
      return stepped;
    };
    const result = await orTryAgainSoon(step, job, token, options.emit);
    if (result.kind === 'again') await putBackForNextStep(job, token, result.delayMs, options);
  }
}

import { REPLAYS_QUEUE } from '@hookferry/core/model/queue-names';
import { replayOrderSchema } from '@hookferry/core/model/replay';
import type { StepReplay } from '@hookferry/core/recovery/step-replay';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, createConsumer } from './bullmq-consumer';
import { delayTooNew } from './bullmq-delay-too-new';
import type { ConsumerOptions } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';
import { putBackForNextStep } from './bullmq-put-back-for-next-step';

export interface ReplayConsumerOptions extends ConsumerOptions {
  readonly stepReplay: StepReplay;
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

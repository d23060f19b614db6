import type { StepErasure } from '@webhooks/core/erasure/step-erasure';
import { type ErasureJob, erasureJobSchema } from '@webhooks/core/queue/erasure-job';
import { ERASURES_QUEUE } from '@webhooks/core/queue/queue-names';
import { type Job, UnrecoverableError, type Worker } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';
import { putBackForNextStep } from './bullmq-put-back-for-next-step';

export interface ErasureConsumerOptions extends ConsumerOptions {
  readonly stepErasure: StepErasure;
}

/** Takes accounts that are being erased off the queue, one step a job run, and puts each back until its next step. */
export class BullmqErasureConsumer {
  readonly #worker: Worker<ErasureJob>;

  constructor(private readonly options: ErasureConsumerOptions) {
    this.#worker = openWorker<ErasureJob>(ERASURES_QUEUE, (job, token) => this.#process(job, token), options);
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs, and resolves when the steps under way are done: they are short. */
  async stop(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job<ErasureJob>, token: string | undefined): Promise<void> {
    const data = erasureJobSchema.safeParse(job.data);
    if (!data.success) throw new UnrecoverableError('Not an erasure job.');
    const { account_id: accountId, place } = data.data;
    const step = async () => {
      const stepped = await this.options.stepErasure(accountId, place);
      if (stepped.kind === 'again' && stepped.place) {
        await job.updateData({ account_id: accountId, place: stepped.place });
      }
      return stepped;
    };
    const result = await orTryAgainSoon(step, job, token, this.options.emit);
    if (result.kind === 'again') await putBackForNextStep(job, token, result.delayMs, this.options);
  }
}

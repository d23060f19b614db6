import { REPLAYS_QUEUE } from '@webhooks/core/queue/queue-names';
import { replayOrderSchema } from '@webhooks/core/replays/replay';
import type { StepReplay } from '@webhooks/core/replays/step-replay';
import { type Job, UnrecoverableError, type Worker } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';
import { putBackForNextStep } from './bullmq-put-back-for-next-step';

export interface ReplayConsumerOptions extends ConsumerOptions {
  readonly stepReplay: StepReplay;
}

/** Takes replays off the queue, one step a job run, and puts each back until its next step. */
export class BullmqReplayConsumer {
  readonly #worker: Worker;

  constructor(private readonly options: ReplayConsumerOptions) {
    this.#worker = openWorker(REPLAYS_QUEUE, (job, token) => this.#process(job, token), options);
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs, and resolves when the steps under way are done: they are short. */
  async stop(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job, token: string | undefined): Promise<void> {
    const order = replayOrderSchema.safeParse(job.data);
    if (!order.success) throw new UnrecoverableError('Not a replay job.');
    const step = () => this.options.stepReplay(order.data);
    const result = await orTryAgainSoon(step, job, token, this.options.emit);
    if (result.kind === 'again') await putBackForNextStep(job, token, result.delayMs, this.options);
  }
}

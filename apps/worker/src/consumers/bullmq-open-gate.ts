import type { LookAtGate } from '@webhooks/core/gates/look-at-gate';
import { GATES_QUEUE } from '@webhooks/core/queue/queue-names';
import { type WakeJob, wakeJobSchema } from '@webhooks/core/queue/wake-job';
import { type Job, UnrecoverableError, type Worker } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';

export interface OpenGateConsumerOptions extends ConsumerOptions {
  readonly lookAtGate: LookAtGate;
}

/** Looks at gates when their time has come. */
export class BullmqOpenGateConsumer {
  readonly #worker: Worker<WakeJob>;

  constructor(private readonly options: OpenGateConsumerOptions) {
    this.#worker = openWorker<WakeJob>(GATES_QUEUE, (job, token) => this.#process(job, token), options);
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs, and resolves when those under way are done: they are short. */
  async stop(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job<WakeJob>, token: string | undefined): Promise<void> {
    const data = wakeJobSchema.safeParse(job.data);
    if (!data.success) throw new UnrecoverableError('Not a wake job.');
    const { account_id, endpoint_id } = data.data;
    const look = () => this.options.lookAtGate(account_id, endpoint_id);
    await orTryAgainSoon(look, job, token, this.options.emit);
  }
}

import type { LookAtGate } from '@webhooks/core/gates/look-at-gate';
import { GATES_QUEUE } from '@webhooks/core/queue/queue-names';
import { type WakeJob, wakeJobSchema } from '@webhooks/core/queue/wake-job';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, createConsumer } from './bullmq-consumer';
import type { ConsumerOptions } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';

export interface LookAtGateConsumerOptions extends ConsumerOptions {
  readonly lookAtGate: LookAtGate;
}

/** Looks at gates when their time has come. */
export function createLookAtGateConsumer(options: LookAtGateConsumerOptions): Consumer {
  return createConsumer<WakeJob>(GATES_QUEUE, look, options);

  async function look(job: Job<WakeJob>, token: string | undefined): Promise<void> {
    const data = wakeJobSchema.safeParse(job.data);
    if (!data.success) throw new UnrecoverableError('Not a wake job.');
    const { account_id, endpoint_id } = data.data;
    await orTryAgainSoon(() => options.lookAtGate(account_id, endpoint_id), job, token, options.emit);
  }
}

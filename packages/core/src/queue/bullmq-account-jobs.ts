import type { Job, JobType, Queue } from 'bullmq';
import type { AccountJobs, QueuePlace } from '../erasure/step-erasure';
import type { AccountId } from '../events/event';
import { openQueue } from './bullmq-open-queue';
import { accountOfEventJob } from './event-job';
import type { QueueConnection } from './queue-connection';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from './queue-names';

interface Searched {
  readonly queue: Queue;
  readonly state: JobType;
  readonly accountOf: (data: unknown) => string | undefined;
}

const LOOKED_AT = 100;

/**
 * Finds an account's jobs where they may stay for long: events that a producer has put off, or that came to nothing, and
 * dead letters. These queues have no list by account, so they are gone through, from the oldest job on.
 */
export class BullmqAccountJobs implements AccountJobs {
  readonly #events: Queue;
  readonly #deadLetters: Queue;
  readonly #searched: readonly Searched[];

  constructor(connection: QueueConnection) {
    this.#events = openQueue(EVENTS_QUEUE, connection);
    this.#deadLetters = openQueue(DEAD_LETTERS_QUEUE, connection);
    this.#searched = [
      { queue: this.#events, state: 'delayed', accountOf: accountOfEventJob },
      { queue: this.#events, state: 'failed', accountOf: accountOfEventJob },
      { queue: this.#deadLetters, state: 'wait', accountOf: accountOfLetter },
    ];
  }

  async removeSome(accountId: AccountId, { queue, offset }: QueuePlace): Promise<QueuePlace | undefined> {
    const searched = this.#searched[queue];
    if (!searched) return undefined;
    const ids = await searched.queue.getRanges([searched.state], offset, offset + LOOKED_AT - 1, true);
    const removed = await Promise.all(ids.map((id) => this.#removeIfOf(accountId, searched, id)));
    if (ids.length < LOOKED_AT) return { queue: queue + 1, offset: 0 };
    return { queue, offset: offset + removed.filter((isRemoved) => !isRemoved).length };
  }

  async #removeIfOf(accountId: AccountId, { queue, accountOf }: Searched, id: string): Promise<boolean> {
    const job: Job | undefined = await queue.getJob(id);
    if (job === undefined || accountOf(job.data) !== accountId) return false;
    // A job of a producer's scheduler is the scheduler's alone; what comes of it is dropped when it is taken.
    if (job.repeatJobKey !== undefined) return false;
    return (await queue.remove(id)) === 1;
  }

  async close(): Promise<void> {
    await Promise.all([this.#events.close(), this.#deadLetters.close()]);
  }
}

function accountOfLetter(data: unknown): string | undefined {
  const job: unknown = typeof data === 'object' && data !== null && 'job' in data ? data.job : undefined;
  return typeof job === 'object' && job !== null && 'data' in job ? accountOfEventJob(job.data) : undefined;
}

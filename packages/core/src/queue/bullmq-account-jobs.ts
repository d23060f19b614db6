import { type JobType, type Queue, QueueKeys } from 'bullmq';
import type { AccountJobs, QueuePlace } from '../erasure/step-erasure';
import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import { openQueue } from './bullmq-open-queue';
import { accountOfEventJob } from './event-job';
import type { QueueConnection } from './queue-connection';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from './queue-names';
import { rejectedJobSchema } from './rejected-job';

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
  readonly #queueKeys: QueueKeys;

  constructor(private readonly connection: QueueConnection) {
    this.#queueKeys = new QueueKeys(connection.prefix);
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
    const { redis } = this.connection;
    const [data, scheduler] = await redis.hmget(this.#queueKeys.toKey(queue.name, id), 'data', 'rjk');
    if (accountOf(parse(data)) !== accountId) return false;
    // A job of a producer's scheduler is the scheduler's alone; what comes of it is dropped when it is taken.
    if (scheduler !== null || (await queue.remove(id)) !== 1) return false;
    if (queue === this.#deadLetters) await redis.zrem(keys.rejectedJobs, id);
    return true;
  }

  async close(): Promise<void> {
    await Promise.all([this.#events.close(), this.#deadLetters.close()]);
  }
}

function accountOfLetter(data: unknown): string | undefined {
  const letter = rejectedJobSchema.safeParse(data);
  return letter.success ? accountOfEventJob(letter.data.job.data) : undefined;
}

// What others have written may be anything.
function parse(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
}

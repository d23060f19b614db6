import { setTimeout as wait } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { EVENTS_QUEUE } from './contract';
import type { EventJob } from './event';
import { Patience } from './patience';
import type { RedisConnection } from './redis-connection';
import type { ReplicaWait } from './redis-replica-wait';
import { refusalIn } from './refusal';

/** Why jobs are not on the queue, or may be missing there. */
export interface Failure {
  readonly code: 'redis_unavailable' | 'outcome_unknown' | 'redis_refused';
  readonly cause: unknown;
}

const TRY_AGAIN_AFTER_MS = 100;

/**
 * Adds jobs to the queue of events, and tries again until the time is over. To add a job twice does no harm: a job with the
 * same id is the same event.
 *
 * A BullMQ queue that is created while Redis is down waits without end, and stays unusable when its first command fails. So
 * it is created once there is a connection, and again after a failure.
 */
export class JobSender {
  #queue: Queue | undefined;

  constructor(
    private readonly redis: RedisConnection,
    private readonly patienceMs: number,
    /** Absent: no replica has to confirm anything. */
    private readonly replicas?: ReplicaWait,
  ) {}

  /** In one round trip, but not all or nothing. `undefined` when all of them are on the queue. */
  async send(jobs: readonly EventJob[]): Promise<Failure | undefined> {
    const patience = new Patience(this.patienceMs);
    let code: Failure['code'] = 'redis_unavailable';
    let cause: unknown;
    let mayBeSent = false;
    while (patience.leftMs > 0) {
      try {
        await patience.of(this.redis.untilReady());
        const queue = await this.#open(patience);
        code = 'outcome_unknown';
        const mark = this.replicas?.mark() ?? 0;
        await patience.of(add(queue, jobs));
        if (this.replicas) await patience.of(this.replicas.confirm(mark));
        return undefined;
      } catch (error) {
        cause = error;
        // It says nothing about an earlier try without a reply.
        if (refusalIn(error)) return { code: mayBeSent ? 'outcome_unknown' : 'redis_refused', cause };
        mayBeSent = code === 'outcome_unknown';
        await wait(Math.min(TRY_AGAIN_AFTER_MS, patience.leftMs));
      }
    }
    return { code, cause: code === 'redis_unavailable' ? (this.redis.lastError() ?? cause) : cause };
  }

  async close(patience = new Patience(this.patienceMs)): Promise<void> {
    const queue = this.#queue;
    this.#queue = undefined;
    if (queue) await patience.of(queue.close()).catch(() => {});
  }

  async #open(patience: Patience): Promise<Queue> {
    const { client, prefix } = this.redis;
    this.#queue ??= openQueue(client, prefix);
    try {
      await patience.of(this.#queue.waitUntilReady());
      return this.#queue;
    } catch (error) {
      // Otherwise each failure would leave listeners on the connection.
      await this.close(patience);
      throw error;
    }
  }
}

// Mostly it is one job, for which `addBulk` is more expensive.
async function add(queue: Queue, jobs: readonly EventJob[]): Promise<unknown> {
  const [first, ...others] = jobs;
  if (first && others.length === 0) return await queue.add(first.name, first.data, first.opts);
  return await queue.addBulk(jobs.map(({ name, data, opts }) => ({ name, data, opts })));
}

function openQueue(connection: RedisConnection['client'], prefix: string): Queue {
  const queue = new Queue(EVENTS_QUEUE, { connection, prefix });
  // The connection's own listener reports it. Without a listener here, the error of BullMQ's copy would end the process.
  queue.on('error', () => {});
  return queue;
}

import { setTimeout as wait } from 'node:timers/promises';
import { type Job, Queue } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import { OF_LANES } from '../support/keys-of-lanes';
import type { RedisDeployment } from './redis/redis-deployment';

// A replay that is at work owes what nothing else is waiting for.
const QUEUES = ['events', 'deliveries', 'events-dead-letters', 'replays'] as const;
// Sweeps of workers are over by then.
const LOOKS = 20;
const LOOK_EVERY_MS = 1_000;
const STATES = ['wait', 'active', 'delayed', 'prioritized', 'failed'] as const;

/** How many jobs there are, of each queue and state that has any. */
export type QueueDepths = Readonly<Record<string, number>>;

/** Looks into the queues from outside, with BullMQ alone. */
export class QueueObserver {
  readonly #connection: Redis | Cluster;
  readonly #queues: readonly Queue[];

  constructor({ connect, prefix }: RedisDeployment) {
    this.#connection = connect({ maxRetriesPerRequest: null });
    this.#connection.on('error', () => {});
    this.#queues = QUEUES.map((name) => new Queue(name, { connection: this.#connection, prefix }));
    // Redis is away now and then: that is what this is about, and BullMQ need not tell it.
    for (const queue of this.#queues) queue.on('error', () => {});
  }

  async read(): Promise<QueueDepths> {
    const depths: Record<string, number> = {};
    for (const queue of this.#queues) {
      const counts = await queue.getJobCounts(...STATES);
      for (const [state, count] of Object.entries(counts)) {
        if (count > 0) depths[`${queue.name}.${state}`] = count;
      }
    }
    return depths;
  }

  /** Each job that is left, up to `most`: where it is, when it is due, and what BullMQ keeps about its last failure. */
  async describeJobs(most = 50): Promise<readonly string[]> {
    const described: string[] = [];
    for (const queue of this.#queues) {
      for (const state of STATES) {
        for (const job of await queue.getJobs([state], 0, most - 1))
          described.push(describe(queue, state, job));
      }
    }
    return described.slice(0, most);
  }

  /** The keys of orders and full requests, once there are no jobs. Waits for those that a worker is about to remove. */
  async findLeftKeys(looks = LOOKS): Promise<readonly string[]> {
    for (let look = 1; ; look += 1) {
      const connection = this.#connection;
      const nodes = 'nodes' in connection ? connection.nodes('master') : [connection];
      const keys = (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
      const left = keys.filter((key) => OF_LANES.test(key));
      if (left.length === 0 || look === looks) return left;
      await wait(LOOK_EVERY_MS);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close().catch(() => {})));
    this.#connection.disconnect();
  }
}

function describe({ name }: Queue, state: string, job: Job): string {
  const { id, timestamp, delay, attemptsStarted, attemptsMade, failedReason } = job;
  const due = delay === 0 ? '' : `, due ${Math.round((timestamp + delay - Date.now()) / 1_000)} s from now`;
  const counts = `${attemptsStarted} starts, ${attemptsMade} attempts`;
  return `${name}.${state} ${id}: ${counts}${due}${failedReason === undefined ? '' : `, ${failedReason}`}`;
}

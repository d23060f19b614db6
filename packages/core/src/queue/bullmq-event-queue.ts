import { Queue } from 'bullmq';
import type { EventQueue } from '../events/accept-event';
import type { AcceptedEvent } from '../events/event';
import type { RedisClient } from '../redis/redis-connect';
import { storageUnavailable } from '../redis/redis-errors';
import { type AcceptedEventJob, eventJobId } from './event-job';
import { EVENTS_QUEUE } from './queue-names';

export interface QueueConnection {
  readonly redis: RedisClient;
  readonly prefix: string;
}

/** The API's end of the events queue. Whoever publishes waits for the answer, so it fails soon rather than wait. */
export class BullmqEventQueue implements EventQueue {
  #queue: Queue<AcceptedEventJob> | undefined;

  constructor(private readonly connection: QueueConnection) {}

  async add(event: AcceptedEvent): Promise<void> {
    const job = {
      account_id: event.accountId,
      id: event.id,
      body: event.body,
      accepted_at: event.acceptedAt,
    };
    try {
      const queue = await this.#open();
      await queue.add(event.type, job, { jobId: eventJobId(event.accountId, event.id) });
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  async close(): Promise<void> {
    await this.#queue?.close();
  }

  // A queue that was made while Redis is away would wait for it without end, and one whose first command fails
  // stays unusable for ever. So it is made on demand, once there is a connection, and anew after a failure.
  async #open(): Promise<Queue<AcceptedEventJob>> {
    const { redis, prefix } = this.connection;
    if (redis.status !== 'ready') throw new Error(`The connection to Redis is not ready: ${redis.status}.`);
    this.#queue ??= new Queue(EVENTS_QUEUE, { connection: redis, prefix }).on('error', ignore);
    const queue = this.#queue;
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      if (this.#queue === queue) this.#queue = undefined;
      // Or each failure would leave its listeners on the connection.
      await queue.close();
      throw error;
    }
  }
}

// The connection's own listener announces its errors; without one here, BullMQ's copy would end the process.
function ignore(): void {}

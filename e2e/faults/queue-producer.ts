import { Queue } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type { OutgoingEvent } from './outgoing-event';
import type { Acknowledgement } from './publish-over-http';
import type { RedisDeployment } from './redis/redis-deployment';

/** A producer that pushes onto the queue `events`, with BullMQ alone. */
export class QueueProducer {
  readonly #connection: Redis | Cluster;
  readonly #queue: Queue;

  constructor({ connect, prefix }: RedisDeployment) {
    this.#connection = connect({
      // A command whose reply got lost is not to be sent again behind our back: without an id it would be two events.
      // It is to fail at once instead: by the first of these alone it would neither fail nor be sent.
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: () => 100,
      lazyConnect: true,
    });
    this.#connection.on('error', () => {});
    this.#queue = new Queue('events', { connection: this.#connection, prefix });
    this.#queue.on('error', () => {});
  }

  async publish({ type, data, id }: OutgoingEvent): Promise<Acknowledgement> {
    const job = { account_id: 'default', type, data, ...(id === undefined ? {} : { id }) };
    try {
      await this.#queue.add(type, job, id === undefined ? {} : { jobId: `default.${id}` });
      return id === undefined ? [] : [id];
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#queue.close().catch(() => {});
    this.#connection.disconnect();
  }
}

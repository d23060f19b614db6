import { createEventPublisher, type EventPublisher } from '@hookferry/producer';
import { Queue } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type { OutgoingEvent } from './outgoing-event';
import type { Acknowledgement } from './publish-over-http';
import type { RedisDeployment } from './redis/redis-deployment';

// A publisher by HTTP has its 503 by then.
const PATIENCE_MS = 2_500;

/** A producer that pushes onto the queue `events`, with BullMQ alone, or by the package where replicas have to confirm it. */
export class QueueProducer {
  readonly #confirmed: EventPublisher<Readonly<Record<string, unknown>>> | undefined;
  readonly #connection: Redis | Cluster;
  readonly #queue: Queue;

  constructor({ connect, prefix }: RedisDeployment, confirmedBy: number) {
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
    if (confirmedBy === 0) return;
    this.#confirmed = createEventPublisher({
      connection: this.#connection,
      confirmedBy,
      patienceMs: PATIENCE_MS,
    });
  }

  async publish(event: OutgoingEvent): Promise<Acknowledgement> {
    const { type, data, id } = event;
    if (this.#confirmed) return await this.#publishConfirmed(event);
    const job = { account_id: 'default', type, data, ...(id === undefined ? {} : { id }) };
    try {
      await this.#queue.add(type, job, id === undefined ? {} : { jobId: `default.${id}` });
      return id === undefined ? [] : [id];
    } catch {
      return undefined;
    }
  }

  async #publishConfirmed({
    type,
    data,
    id,
  }: Pick<OutgoingEvent, 'type' | 'data' | 'id'>): Promise<Acknowledgement> {
    try {
      const published = await this.#confirmed?.publish({ type, data, ...(id === undefined ? {} : { id }) });
      return published && [published.id];
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#confirmed?.close();
    await this.#queue.close().catch(() => {});
    this.#connection.disconnect();
  }
}

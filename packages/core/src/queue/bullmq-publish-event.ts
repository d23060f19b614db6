import { type ConnectionOptions, Queue } from 'bullmq';
import type { EventData, KnownEventType } from '../catalogue/built-in/index';
import { CLUSTER_QUEUE_PREFIX, QUEUE_PREFIX } from '../kernel/redis-connect';
import { EVENTS_QUEUE } from '../model/queue-names';
import { eventJobId, type PublishedEventJob } from './event-job';

export interface PublishEventInput<Type extends KnownEventType> {
  readonly accountId: string;
  readonly type: Type;
  readonly data: EventData<Type>;
  /**
   * At most 128 of `A-Z a-z 0-9 _ -`, unique in the account: publishing again under the same id (after an error,
   * say) makes no second event. Left out, every call makes one.
   */
  readonly id?: string;
  /** Only these endpoints of the account get it (1 to 100), whichever types they asked for. */
  readonly webhookIds?: readonly string[];
}

export interface PublisherOptions {
  /** BullMQ's connection: `{ host, port }`, or an ioredis client of your own. */
  readonly connection: ConnectionOptions;
  /** Set it when Redis is a Cluster: a queue's keys must share a hash tag there. */
  readonly cluster?: boolean;
}

/**
 * For services beside this one that have access to its Redis: publishes events straight onto the queue.
 *
 * ```ts
 * const publisher = createEventPublisher({ connection: { host: '127.0.0.1', port: 6379 } });
 * await publisher.publishEvent({
 *   accountId: 'default',
 *   type: 'keyword.quick_win',
 *   data: { keyword: 'red shoes', position: 11, volume: 2400 },
 * });
 * await publisher.close();
 * ```
 *
 * An event that turns out not to be valid ends on the queue `events-dead-letters`, with its reason.
 */
export function createEventPublisher({ connection, cluster = false }: PublisherOptions) {
  const queue = new Queue<PublishedEventJob>(EVENTS_QUEUE, {
    connection,
    prefix: cluster ? CLUSTER_QUEUE_PREFIX : QUEUE_PREFIX,
  });

  return {
    /** Resolves once Redis has the event. Rejects with what BullMQ says when it could not be written. */
    async publishEvent<Type extends KnownEventType>(event: PublishEventInput<Type>): Promise<void> {
      const { accountId, type, data, id, webhookIds } = event;
      await queue.add(
        type,
        {
          account_id: accountId,
          type,
          data,
          ...(id === undefined ? {} : { id }),
          ...(webhookIds === undefined ? {} : { webhook_ids: webhookIds }),
        },
        id === undefined ? {} : { jobId: eventJobId(accountId, id) },
      );
    },

    async close(): Promise<void> {
      await queue.close();
    },
  };
}

import { eventJobId } from '@hookferry/producer/contract';
import type { EventQueue } from '../intake/accept-events';
import type { AcceptedEvent } from '../model/event';
import { EVENTS_QUEUE } from '../model/queue-names';
import { formatTraceparent } from '../model/trace';
import { BullmqOnDemandQueue, type NewJob } from './bullmq-on-demand-queue';
import type { QueueConnection } from './bullmq-open-queue';
import { type AcceptedEventJob } from './event-job';

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop.
const CHUNK = 100;

/** The API's end of the events queue. */
export class BullmqEventQueue implements EventQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(EVENTS_QUEUE, connection);
  }

  async add(event: AcceptedEvent): Promise<void> {
    await this.#queue.add(jobOf(event));
  }

  async addAll(events: readonly AcceptedEvent[]): Promise<void> {
    for (let start = 0; start < events.length; start += CHUNK) {
      await this.#queue.addAll(events.slice(start, start + CHUNK).map(jobOf));
    }
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

function jobOf({ id, accountId, type, body, acceptedAt, endpointIds, trace }: AcceptedEvent): NewJob {
  const data: AcceptedEventJob = {
    account_id: accountId,
    id,
    body,
    accepted_at: acceptedAt,
    ...(endpointIds === undefined ? {} : { webhook_ids: endpointIds }),
    ...(trace === undefined ? {} : { trace: formatTraceparent(trace) }),
  };
  return { name: type, data, opts: { jobId: eventJobId(accountId, id) } };
}

import type { EventQueue } from '../events/accept-event';
import type { AcceptedEvent } from '../events/event';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import { type AcceptedEventJob, eventJobId } from './event-job';
import type { QueueConnection } from './queue-connection';
import { EVENTS_QUEUE } from './queue-names';

/** The API's end of the events queue. */
export class BullmqEventQueue implements EventQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(EVENTS_QUEUE, connection);
  }

  async add(event: AcceptedEvent): Promise<void> {
    const { id, accountId, type, body, acceptedAt } = event;
    const job: AcceptedEventJob = { account_id: accountId, id, body, accepted_at: acceptedAt };
    await this.#queue.add(type, job, { jobId: eventJobId(accountId, id) });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

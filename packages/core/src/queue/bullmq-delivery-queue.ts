import type { JobsOptions, Queue } from 'bullmq';
import type { DeliveryParts } from '../deliveries/delivery-id';
import type { DeliveryQueue } from '../deliveries/fan-out-event';
import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
import type { MoveInput, SlowLaneQueue } from '../gates/move';
import type { ReleaseQueue } from '../gates/open-gate';
import type { Parked } from '../gates/parked';
import { addJobs } from './bullmq-add-jobs';
import { openQueue } from './bullmq-open-queue';
import { type DeliveryJob, deliveryJobId } from './delivery-job';
import type { QueueConnection } from './queue-connection';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

// The retry policy decides when a delivery is at its end; BullMQ only has to be far from deciding it first.
const MORE_ATTEMPTS_THAN_ANY_SCHEDULE = 10_000;

// Each option is stored with each job, so there are no more than needed: what is the same for every job (its removal, its
// backoff) is the worker's setting.
const JOB_OPTIONS: JobsOptions = { attempts: MORE_ATTEMPTS_THAN_ANY_SCHEDULE };

/** Shortest names for what each pending delivery repeats: the job's id says the rest. */
const JOB_NAME = 'd';

/** The job of a delivery that comes in. */
export function newDeliveryJob(accountId: AccountId, delivery: DeliveryParts) {
  const data: DeliveryJob = { account_id: accountId };
  return { name: JOB_NAME, data, opts: { ...JOB_OPTIONS, jobId: deliveryJobId(delivery, 'first') } };
}

/** Where deliveries wait for a worker: those that come in or come back in the fast lane, others in the slow one. */
export class BullmqDeliveryQueue implements DeliveryQueue, ReleaseQueue, SlowLaneQueue {
  readonly #queue: Queue<DeliveryJob>;
  readonly #slowQueue: Queue<DeliveryJob>;

  constructor(connection: QueueConnection) {
    this.#queue = openQueue(DELIVERIES_QUEUE, connection);
    this.#slowQueue = openQueue(SLOW_DELIVERIES_QUEUE, connection);
  }

  async release(accountId: AccountId, endpointId: EndpointId, parked: readonly Parked[]): Promise<void> {
    await addJobs(
      this.#queue,
      parked.map(({ eventId, side }) => ({
        name: JOB_NAME,
        data: { account_id: accountId, released: true } satisfies DeliveryJob,
        opts: { ...JOB_OPTIONS, jobId: deliveryJobId({ eventId, endpointId }, side) },
      })),
    );
  }

  // The fast lane first: a job that moves is in the other one before it is gone from here.
  async releaseLost(accountId: AccountId, endpointId: EndpointId, parked: Parked): Promise<void> {
    const jobId = deliveryJobId({ eventId: parked.eventId, endpointId }, parked.side);
    if ((await this.#queue.getJob(jobId)) ?? (await this.#slowQueue.getJob(jobId))) return;
    await this.release(accountId, endpointId, [parked]);
  }

  // Under the id that it has: ids are a queue's own, so the job that moves is not in the way of this one.
  async addSlow({ accountId, wasReleased, side, ...parts }: MoveInput): Promise<void> {
    await this.#slowQueue.add(
      JOB_NAME,
      { account_id: accountId, ...(wasReleased ? { released: true } : {}) },
      { ...JOB_OPTIONS, jobId: deliveryJobId(parts, side) },
    );
  }

  // A chunk can fail in the middle; whoever called adds the whole chunk again, under the same ids.
  async addAll(accountId: AccountId, eventId: EventId, endpointIds: readonly EndpointId[]): Promise<void> {
    await addJobs(
      this.#queue,
      endpointIds.map((endpointId) => newDeliveryJob(accountId, { eventId, endpointId })),
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#slowQueue.close()]);
  }
}

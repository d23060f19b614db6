import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { Clock } from '../runtime/clock';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './queue-connection';
import { GATES_QUEUE } from './queue-names';
import type { WakeJob } from './wake-job';

// What is soon is wanted then; for what is far, one look for several requests will do.
const FINE_MS = 100;
const COARSE_MS = 5_000;
// So far apart the machines' clocks may be.
const CLOCK_SKEW_MS = 5_000;
const REMEMBERED_ENDPOINTS = 10_000;

/** Delayed jobs that open gates: one for each endpoint and moment, however many deliveries ask for it. */
export class BullmqWakeQueue implements WakeQueue {
  readonly #queue: BullmqOnDemandQueue;
  /** For which moment an endpoint was asked for last. */
  readonly #asked = new LRUCache<EndpointId, number>({ max: REMEMBERED_ENDPOINTS });

  constructor(
    connection: QueueConnection,
    private readonly clock: Clock,
  ) {
    this.#queue = new BullmqOnDemandQueue(GATES_QUEUE, connection);
  }

  async wake(accountId: AccountId, endpointId: EndpointId, at: number): Promise<void> {
    const now = this.clock();
    const grainMs = at - now < COARSE_MS ? FINE_MS : COARSE_MS;
    const moment = momentOf(endpointId, Math.max(at, now), grainMs);
    // Each of many that are held asks for the same: that it is on the queue already need not be asked of Redis. Unless a
    // worker whose clock is ahead may have looked by now: nobody would look once more for what came after that.
    if (this.#asked.get(endpointId) === moment && moment - now > CLOCK_SKEW_MS) return;
    const data: WakeJob = { account_id: accountId, endpoint_id: endpointId };
    const opts = { jobId: `${endpointId}.${moment}`, delay: moment - now };
    await this.#queue.add({ name: 'wake', data, opts });
    this.#asked.set(endpointId, moment);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

// The moments of one endpoint are the same for all who ask, and others than those of the next one: were all looked at
// together, whatever is delivered meanwhile would wait for that.
function momentOf(endpointId: EndpointId, at: number, grainMs: number): number {
  const phase = crc32(endpointId) % grainMs;
  return Math.ceil((at - phase) / grainMs) * grainMs + phase;
}

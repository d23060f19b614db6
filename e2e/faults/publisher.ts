import { setTimeout as wait } from 'node:timers/promises';
import type { AcknowledgedFile } from './acknowledged-file';
import { BULK_TYPE, SEQUENTIAL_TYPE, SPARSE_TYPE } from './endpoints';
import type { PublishedEvent } from './ledger';
import { buildEvent, type OutgoingEvent } from './outgoing-event';
import { type Acknowledgement, publishBatch, publishOne, type Target } from './publish-over-http';
import type { QueueProducer } from './queue-producer';
import type { Random } from './random';

const TICK_MS = 20;
const BATCH_SIZE = 5;
// Half as much again as the tightest rate limit lets through in a second.
const SPARSE_VOLLEY = 30;
const REPEAT_AFTER_MS = 150;
// What Redis or an API that was just restarted needs to be well again, and much more.
const REPEAT_FOR_MS = 30_000;

export interface Rates {
  /** Events a second of the type that most endpoints want. */
  readonly bulk: number;
  /** Events a second of the type that the troubled endpoints want; they come in volleys. */
  readonly sparse: number;
  /** At most: each waits for the acknowledgement of the one before. */
  readonly sequential: number;
}

export interface PublisherOptions {
  /** They take turns. */
  readonly targets: readonly Target[];
  readonly producer: QueueProducer;
  readonly acknowledged: AcknowledgedFile;
  readonly rates: Rates;
  readonly random: Random;
}

/** Publishes at a constant rate, however long the answers take, over every way there is into the service. */
export class Publisher {
  readonly published = new Map<string, PublishedEvent>();
  acknowledgedCount = 0;
  readonly #underWay = new Set<Promise<void>>();
  #failure: unknown;
  #isStopping = false;
  #count = 0;
  #turn = 0;

  constructor(private readonly options: PublisherOptions) {}

  start(): void {
    const { bulk, sparse, sequential } = this.options.rates;
    this.#track(this.#publishAtRate(BULK_TYPE, bulk, 1));
    this.#track(this.#publishAtRate(SPARSE_TYPE, sparse, SPARSE_VOLLEY));
    this.#track(this.#publishInSequence(sequential));
  }

  /** Publishes this many at once, and resolves when all are acknowledged. */
  async burst(type: string, count: number): Promise<void> {
    const batch = this.#build(type, count, true);
    for (let from = 0; from < count; from += BATCH_SIZE * 5) {
      const part = batch.slice(from, from + BATCH_SIZE * 5);
      await this.#repeat(part, () => publishBatch(this.#nextTarget(), part));
    }
  }

  /** Starts no more events; resolves when those under way are acknowledged, or were repeated for long enough. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #publishAtRate(type: string, perSecond: number, volley: number): Promise<void> {
    const startedAt = Date.now();
    let sent = 0;
    while (!this.#isStopping) {
      const due = Math.floor(((Date.now() - startedAt) * perSecond) / 1_000 / volley) * volley;
      while (sent < due) sent += this.#publishNext(type);
      await wait(TICK_MS);
    }
  }

  /** @returns how many events that were. */
  #publishNext(type: string): number {
    const { random, producer } = this.options;
    const chance = random.next();
    if (chance < 0.05) {
      const batch = this.#build(type, BATCH_SIZE, random.next() < 0.5);
      const key = batch[0]?.id === undefined ? `batch-${this.#count}` : undefined;
      this.#track(this.#repeat(batch, () => publishBatch(this.#nextTarget(), batch, key)));
      return BATCH_SIZE;
    }
    const isOwnId = random.next() < 0.5;
    const [event] = this.#build(type, 1, isOwnId);
    if (event === undefined) return 0;
    const send = chance < 0.25 ? () => producer.publish(event) : () => publishOne(this.#nextTarget(), event);
    this.#track(isOwnId ? this.#repeat([event], send) : this.#once([event], send));
    return 1;
  }

  async #publishInSequence(perSecond: number): Promise<void> {
    while (!this.#isStopping) {
      const [event] = this.#build(SEQUENTIAL_TYPE, 1, true, { isSequential: true });
      if (event === undefined) return;
      const startedAt = Date.now();
      await this.#repeat([event], () => publishOne(this.#nextTarget(), event));
      await wait(Math.max(startedAt + 1_000 / perSecond - Date.now(), 1));
    }
  }

  #build(
    type: string,
    count: number,
    isOwnId: boolean,
    { isSequential }: { readonly isSequential: boolean } = { isSequential: false },
  ): OutgoingEvent[] {
    return Array.from({ length: count }, () => {
      this.#count += 1;
      // Of one length, so that markers sort as they were made.
      const event = buildEvent(type, `m${String(this.#count).padStart(7, '0')}`, { isOwnId });
      this.published.set(event.marker, { marker: event.marker, type, isSequential });
      return event;
    });
  }

  /** For what has an id or an idempotency key: again and again, until it is acknowledged. */
  async #repeat(events: readonly OutgoingEvent[], send: () => Promise<Acknowledgement>): Promise<void> {
    const giveUpAt = Date.now() + REPEAT_FOR_MS;
    while (!(await this.#once(events, send)) && Date.now() < giveUpAt) await wait(REPEAT_AFTER_MS);
  }

  async #once(events: readonly OutgoingEvent[], send: () => Promise<Acknowledgement>): Promise<boolean> {
    const ids = await send();
    if (ids === undefined) return false;
    const acknowledgedAt = Date.now();
    for (const [i, { marker }] of events.entries()) {
      const event = this.published.get(marker);
      if (event) this.options.acknowledged.add({ ...event, id: ids[i], acknowledgedAt });
      this.acknowledgedCount += 1;
    }
    return true;
  }

  #nextTarget(): Target {
    const { targets } = this.options;
    this.#turn += 1;
    const target = targets[this.#turn % targets.length];
    if (target === undefined) throw new Error('There is nothing to publish to.');
    return target;
  }

  #track(work: Promise<unknown>): void {
    const tracked: Promise<void> = work.then(
      () => void this.#underWay.delete(tracked),
      (error: unknown) => {
        this.#underWay.delete(tracked);
        this.#failure ??= error;
      },
    );
    this.#underWay.add(tracked);
  }
}

import { setTimeout as wait } from 'node:timers/promises';
import type { AcknowledgedFile } from './acknowledged-file';
import { BULK_TYPE, SEQUENTIAL_TYPE, SPARSE_TYPE, VOLUME_TYPE } from './endpoints';
import type { PublishedEvent } from './ledger';
import { buildEvent, type OutgoingEvent } from './outgoing-event';
import { type Acknowledgement, publishBatch, publishOne, type Target } from './publish-over-http';
import type { QueueProducer } from './queue-producer';
import type { Random } from './random';

const TICK_MS = 20;
/** What `start` starts. */
const SEQUENCES = 4;
const BATCH_SIZE = 5;
// So many that each has, most of the time, an event or two that wait.
const GROUPS = 5;
// Half as much again as the tightest rate limit lets through in a second.
const SPARSE_VOLLEY = 30;
const VOLUME_BATCH = 50;
// A tenth of the requests, and so most of the events.
const VOLUME_BATCH_SHARE = 0.1;
// The first pause, and the longest: each is twice the one before.
const REPEAT_AFTER_MS = 150;
const REPEAT_AT_MOST_AFTER_MS = 2_000;
// While so much waits for a response, what comes on top is sent once: an outage is not to be made a flood.
const MOST_REPEATED_AT_ONCE = 400;
// The volume alone waits for the service when so many of it are under way: what a busy machine can't do within a run
// would only make the run longer. All else comes at its rate, whatever happens.
const MOST_VOLUME_UNDER_WAY = 1_000;
// What Redis or an API that was just restarted needs to be well again, and much more.
const REPEAT_FOR_MS = 30_000;

export interface Rates {
  /** Events a second of the type that most endpoints want. */
  readonly bulk: number;
  /** Events a second that few want; most of them come in batches. */
  readonly volume?: number;
  /** Events a second of the type that the troubled endpoints want; they come in volleys. */
  readonly sparse: number;
  /** At most, of all groups together: each waits for the acknowledgement of the one before. */
  readonly sequential: number;
}

export interface PublisherOptions {
  /** They take turns. */
  readonly targets: readonly Target[];
  readonly producer: QueueProducer;
  readonly acknowledged: AcknowledgedFile;
  readonly rates: Rates;
  readonly random: Random;
  /** Whether some events may rely on Redis alone: those pushed onto the queue, and those with an Idempotency-Key. */
  readonly mayRelyOnRedis: boolean;
  /** How many events of the volume have arrived. */
  readonly countVolumeArrived: () => number;
}

/** Publishes at a constant rate, however long the responses take, over every way there is into the service. */
export class Publisher {
  readonly published = new Map<string, PublishedEvent>();
  acknowledgedCount = 0;
  readonly #underWay = new Set<Promise<void>>();
  #failure: unknown;
  #isStopping = false;
  #hasGivenUp = false;
  #isPaused = false;
  #count = 0;
  #turn = 0;
  #volumeAcknowledged = 0;

  constructor(private readonly options: PublisherOptions) {}

  start(): void {
    const { bulk, volume = 0, sparse, sequential } = this.options.rates;
    this.#track(this.#publishAtRate(BULK_TYPE, bulk, 1));
    this.#track(this.#publishAtRate(VOLUME_TYPE, volume, 1, () => this.#isVolumeEnough()));
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

  /** Publishes so many groups at once, each with so many events, one after the other. */
  async publishGroups(groups: number, events: number): Promise<void> {
    this.#count += 1;
    const name = `groups-${this.#count}`;
    await Promise.all(
      Array.from({ length: groups }, async (_, i) => {
        for (let left = events; left > 0; left -= 1) await this.#publishInGroup(`${name}-${i}`);
      }),
    );
  }

  /** An event that is ours to publish. */
  prepare(type: string): OutgoingEvent {
    const [event] = this.#build(type, 1, true);
    if (event === undefined) throw new Error('No event was made.');
    return event;
  }

  async publishUntilAcknowledged(event: OutgoingEvent): Promise<void> {
    await this.#repeat([event], () => publishOne(this.#nextTarget(), event));
  }

  /** Publishes one event so often at once, and then until one is acknowledged. */
  async publishCopies(type: string, copies: number): Promise<void> {
    const event = this.prepare(type);
    await Promise.all(Array.from({ length: copies }, () => publishOne(this.#nextTarget(), event)));
    await this.publishUntilAcknowledged(event);
  }

  /** Starts no more events for now. Resolves when those under way are acknowledged, or were repeated for long enough. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    while (this.#underWay.size > SEQUENCES) await wait(TICK_MS);
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Starts no more events; resolves when those under way are acknowledged, or were repeated for long enough. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** For a run that has broken off: starts no more events, and repeats none. */
  giveUp(): void {
    this.#isStopping = true;
    this.#hasGivenUp = true;
  }

  async #publishAtRate(
    type: string,
    perSecond: number,
    volley: number,
    isEnough: () => boolean = () => false,
  ): Promise<void> {
    const startedAt = Date.now();
    let sent = 0;
    while (!this.#isStopping) {
      const due = Math.floor(((Date.now() - startedAt) * perSecond) / 1_000 / volley) * volley;
      while (sent < due) sent += this.#isPaused || isEnough() ? due - sent : this.#publishNext(type);
      await wait(TICK_MS);
    }
  }

  #isVolumeEnough(): boolean {
    return this.#volumeAcknowledged - this.options.countVolumeArrived() > MOST_VOLUME_UNDER_WAY;
  }

  /** @returns how many events that were. */
  #publishNext(type: string): number {
    const { random, producer } = this.options;
    const chance = random.next();
    const batchSize = type === VOLUME_TYPE ? VOLUME_BATCH : BATCH_SIZE;
    const isRepeated = this.#underWay.size < MOST_REPEATED_AT_ONCE;
    if (chance < (type === VOLUME_TYPE ? VOLUME_BATCH_SHARE : 0.05)) {
      const isOwnId = random.next() < 0.5 || !this.options.mayRelyOnRedis;
      const batch = this.#build(type, batchSize, isOwnId);
      const key = batch[0]?.id === undefined ? `batch-${this.#count}` : undefined;
      const send = () => publishBatch(this.#nextTarget(), batch, key);
      this.#track(isRepeated ? this.#repeat(batch, send) : this.#once(batch, send));
      return batchSize;
    }
    const isOwnId = random.next() < 0.5 && isRepeated;
    const [event] = this.#build(type, 1, isOwnId);
    if (event === undefined) return 0;
    const isPushed = chance < 0.25 && this.options.mayRelyOnRedis;
    const send = isPushed ? () => producer.publish(event) : () => publishOne(this.#nextTarget(), event);
    this.#track(isOwnId ? this.#repeat([event], send) : this.#once([event], send));
    return 1;
  }

  async #publishInSequence(perSecond: number): Promise<void> {
    if (perSecond <= 0) return;
    while (!this.#isStopping) {
      if (this.#isPaused) {
        await wait(TICK_MS);
        continue;
      }
      const startedAt = Date.now();
      await this.#publishInGroup(`group-${this.options.random.between(1, GROUPS)}`);
      await wait(Math.max(startedAt + 1_000 / perSecond - Date.now(), 1));
    }
  }

  async #publishInGroup(group: string): Promise<void> {
    const [event] = this.#build(SEQUENTIAL_TYPE, 1, true, group);
    if (event) await this.publishUntilAcknowledged(event);
  }

  #build(type: string, count: number, isOwnId: boolean, group?: string): OutgoingEvent[] {
    return Array.from({ length: count }, () => {
      this.#count += 1;
      // Of one length, so that markers sort as they were made.
      const event = buildEvent(type, `m${String(this.#count).padStart(7, '0')}`, { isOwnId, group });
      const { marker } = event;
      const madeAt = Date.now();
      this.published.set(marker, { marker, type, madeAt, ...(group === undefined ? {} : { group }) });
      return event;
    });
  }

  /** For what has an id or an idempotency key: again and again, until it is acknowledged. */
  async #repeat(events: readonly OutgoingEvent[], send: () => Promise<Acknowledgement>): Promise<void> {
    const giveUpAt = Date.now() + REPEAT_FOR_MS;
    let pauseMs = REPEAT_AFTER_MS;
    while (!(await this.#once(events, send)) && Date.now() < giveUpAt && !this.#hasGivenUp) {
      await wait(pauseMs);
      pauseMs = Math.min(pauseMs * 2, REPEAT_AT_MOST_AFTER_MS);
    }
  }

  async #once(events: readonly OutgoingEvent[], send: () => Promise<Acknowledgement>): Promise<boolean> {
    const ids = await send();
    if (ids === undefined) return false;
    const acknowledgedAt = Date.now();
    for (const [i, { marker }] of events.entries()) {
      const event = this.published.get(marker);
      if (event) this.options.acknowledged.add({ ...event, id: ids[i], acknowledgedAt });
      this.acknowledgedCount += 1;
      if (event?.type === VOLUME_TYPE) this.#volumeAcknowledged += 1;
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

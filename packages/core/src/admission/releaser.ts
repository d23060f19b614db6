import type { Clock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { Concurrency } from './concurrency';
import type { EndpointAddress, HeldDeliveries } from './held-deliveries';
import type { LookAtEndpoint } from './look-at-endpoint';

export interface ReleaserOptions {
  readonly heldDeliveries: Pick<HeldDeliveries, 'claimDueLooks'>;
  readonly lookAtEndpoint: LookAtEndpoint;
  readonly concurrency: Pick<Concurrency, 'freePlaces' | 'isSlow'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What this process knows of an endpoint that has held deliveries. */
interface Watched {
  readonly address: EndpointAddress;
  /** When its timer goes off. Milliseconds since the Unix epoch. */
  timerAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Places that became free since the last look. */
  places: number;
  isLooking: boolean;
}

/** The sweep: so often, whatever any process has in mind. */
const SWEEP_EVERY_MS = 1_000;
const SWEPT_AT_ONCE = 50;
/** A look that says nothing else lets so many go; each that ends well lets more of them go. */
const PLACES = 2;
// Attempts end by the hundred within a moment: one look serves all of them. What it releases waits a little in this process,
// so that no place is idle meanwhile.
const GATHERED_MS = 25;
// Of those that are forgotten the sweep takes care.
const WATCHED_ENDPOINTS = 10_000;

/**
 * Looks at endpoints whose deliveries are held: at the moment for which a look was asked for, when places become free,
 * and by a sweep each second at whatever is due, also what was asked for by processes that are gone.
 */
export class Releaser {
  readonly #watched = createLru<EndpointId, Watched>(WATCHED_ENDPOINTS, {
    dispose: ({ timer }) => clearTimeout(timer),
  });
  /** In the order in which they asked. */
  readonly #awaitingSlot = new Map<EndpointId, EndpointAddress>();
  readonly #underWay = new Set<Promise<void>>();
  #sweepTimer: NodeJS.Timeout | undefined;
  #isStopped = true;

  constructor(private readonly options: ReleaserOptions) {}

  start(): void {
    this.#isStopped = false;
    this.#scheduleSweep();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#sweepTimer);
    this.#watched.clear();
    await Promise.all(this.#underWay);
  }

  /** Looks at all endpoints whose look is due. */
  async runOnce(): Promise<void> {
    const { heldDeliveries, clock } = this.options;
    for (;;) {
      const due = await heldDeliveries.claimDueLooks(clock(), SWEPT_AT_ONCE);
      await Promise.all(due.map((address) => this.#look(this.#watch(address), this.#placesAt(address))));
      if (due.length < SWEPT_AT_ONCE) return;
    }
  }

  /** Whether deliveries to the endpoint are held, as far as this process knows. */
  isWatching(endpointId: EndpointId): boolean {
    return this.#watched.has(endpointId);
  }

  /** Looks at an endpoint at a time, or before. */
  lookAt(accountId: AccountId, endpointId: EndpointId, at: number): void {
    this.#setTimer(this.#watch({ accountId, endpointId }), at);
  }

  /** So many more of an endpoint's held deliveries may go; several are let go at once. */
  grant(accountId: AccountId, endpointId: EndpointId, places: number): void {
    if (this.#isStopped || places < 1) return;
    const watched = this.#watch({ accountId, endpointId });
    watched.places += places;
    this.#setTimer(watched, this.options.clock() + GATHERED_MS);
  }

  /** The next slot that becomes free for those that find none is this endpoint's, after those that wait already. */
  awaitSlot(accountId: AccountId, endpointId: EndpointId): void {
    if (this.#awaitingSlot.size < WATCHED_ENDPOINTS) {
      this.#awaitingSlot.set(endpointId, { accountId, endpointId });
    }
  }

  slotIsFree(): void {
    for (const [id, { accountId, endpointId }] of this.#awaitingSlot) {
      this.#awaitingSlot.delete(id);
      return this.grant(accountId, endpointId, 1);
    }
  }

  #watch(address: EndpointAddress): Watched {
    const known = this.#watched.get(address.endpointId);
    if (known) return known;
    const watched: Watched = { address, timerAt: 0, timer: undefined, places: 0, isLooking: false };
    this.#watched.set(address.endpointId, watched);
    return watched;
  }

  #setTimer(watched: Watched, at: number): void {
    if (this.#isStopped) return;
    if (watched.timer !== undefined && watched.timerAt <= at) return;
    clearTimeout(watched.timer);
    watched.timerAt = at;
    const delayMs = Math.max(at - this.options.clock(), 0);
    watched.timer = setTimeout(() => {
      watched.timer = undefined;
      this.#track(this.#look(watched, this.#placesNow(watched)));
    }, delayMs);
  }

  // What was granted one by one may be more than there is room for by now.
  #placesNow({ address, places }: Watched): number {
    if (places === 0) return this.#placesAt(address);
    return Math.min(places, this.options.concurrency.freePlaces(address.endpointId));
  }

  #placesAt({ endpointId }: EndpointAddress): number {
    const { concurrency } = this.options;
    return Math.min(concurrency.freePlaces(endpointId), concurrency.isSlow(endpointId) ? 1 : PLACES);
  }

  async #look(watched: Watched, places: number): Promise<void> {
    const { lookAtEndpoint, clock } = this.options;
    // One at a time: the next one knows what this one has let go.
    if (watched.isLooking) return this.#setTimer(watched, clock() + GATHERED_MS);
    watched.isLooking = true;
    watched.places = 0;
    try {
      const { left, lookAgainAt } = await lookAtEndpoint(watched.address, places);
      if (left === 0) this.#forget(watched);
      else this.#setTimer(watched, lookAgainAt);
    } catch (error) {
      // It is due still, as far as Redis knows: a sweep comes back to it.
      this.options.emit({ name: 'task.failed', task: 'look at endpoint', error });
    } finally {
      watched.isLooking = false;
    }
  }

  #forget(watched: Watched): void {
    if (watched.timer === undefined) this.#watched.delete(watched.address.endpointId);
  }

  #scheduleSweep(): void {
    if (this.#isStopped) return;
    this.#sweepTimer = setTimeout(() => {
      this.#track(
        this.runOnce()
          .catch((error: unknown) =>
            this.options.emit({ name: 'task.failed', task: 'look at endpoint', error }),
          )
          .finally(() => this.#scheduleSweep()),
      );
    }, SWEEP_EVERY_MS);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}

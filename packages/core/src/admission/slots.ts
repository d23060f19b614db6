/** How many attempts a process may have under way. */
export interface SlotsOptions {
  /** For those that have just begun. */
  readonly quick: number;
  /** Beside these, for those that have been under way for a while. */
  readonly slow: number;
  /** Told whenever it changes how many there may be under way in all. */
  readonly onCapacity: (capacity: number) => void;
  /** Milliseconds, of a clock that never jumps. */
  readonly clock: () => number;
  /** Processor time that this process has taken so far. Milliseconds. */
  readonly processorTime: () => number;
}

/** One attempt's slot. */
export interface Slot {
  readonly takenAt: number;
  isSlow: boolean;
}

/** Longer than a receiver takes that is well, and short enough that those that hang are felt by nobody else. */
export const SLOW_AFTER_MS = 250;
const LOOK_EVERY_MS = 50;

// So late comes a timer when there is more under way than the processor keeps up with. What is under way beyond that waits in
// this process, in front of whatever comes next, and gains nothing: it is better off in the queue, which has a fair order.
// Only processor time of our own counts: a timer that is late because others use the processor says nothing of our load.
const LATE_MS = 5;
const SLOWED_DOWN_BY = 0.7;
const SPED_UP_BY = 1 / 16;
/** Enough to keep a processor busy with receivers that answer within some milliseconds, as shares of all and as a number. */
const LEAST_PACE = 1 / 16;
const LEAST_SLOTS = 8;

/**
 * Keeps slots free for endpoints that answer quickly: an attempt that has been under way for a while counts as slow, and
 * whoever takes jobs may take one more in its place, for as long as there is room among the slow ones. There are fewer quick
 * ones while the process is late with what it has.
 */
export class Slots {
  // In the order in which they were taken, so that the oldest are looked at first.
  readonly #quick = new Set<Slot>();
  #slow = 0;
  #pace = 1;
  /** Those among the quick ones that would be slow if there were room: they wait, and use no processor. */
  #stuck = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer was set, and the processor time that had been taken by then. */
  #setAt = 0;
  #taken = 0;

  constructor(private readonly options: SlotsOptions) {}

  /** How many attempts may be under way in all, as things stand. */
  get capacity(): number {
    const { quick } = this.options;
    return Math.min(Math.floor(quick * this.#pace) + this.#stuck, quick) + this.#slow;
  }

  /** How many attempts are under way. */
  get inUse(): { readonly quick: number; readonly slow: number } {
    return { quick: this.#quick.size, slow: this.#slow };
  }

  /** How many of each may be under way, as things stand. */
  get allowed(): { readonly quick: number; readonly slow: number } {
    return { quick: this.capacity - this.#slow, slow: this.options.slow };
  }

  /** Which share of the quick slots there is at the moment: 1 unless the process is late. */
  get pace(): number {
    return this.#pace;
  }

  /**
   * Whether so much is idle that an endpoint may have more than its share: an eighth of the quick slots stays free for what
   * comes next, and half of the slow ones for endpoints that begin to hang.
   */
  get isIdle(): boolean {
    const { quick, slow } = this.options;
    return this.#quick.size < (quick * this.#pace * 7) / 8 && this.#slow <= slow / 2;
  }

  get hasRoomForSlow(): boolean {
    return this.#slow < this.options.slow;
  }

  /** @param isSlow it is known beforehand that it will take a while; to be asked only if there is room. */
  take(isSlow: boolean): Slot {
    const slot = { takenAt: this.options.clock(), isSlow: false };
    if (isSlow) {
      this.#countAsSlow(slot);
      this.options.onCapacity(this.capacity);
    } else this.#quick.add(slot);
    this.#keepLooking();
    return slot;
  }

  leave(slot: Slot): void {
    if (!slot.isSlow) {
      this.#quick.delete(slot);
      return;
    }
    this.#slow -= 1;
    this.options.onCapacity(this.capacity);
  }

  readonly #onTimer = () => {
    this.#timer = undefined;
    const now = this.options.clock();
    const before = this.capacity;
    this.#keepPace(now - this.#setAt, this.options.processorTime() - this.#taken);
    this.#moveSlow(now - SLOW_AFTER_MS);
    if (this.capacity !== before) this.options.onCapacity(this.capacity);
    this.#keepLooking();
  };

  #keepLooking(): void {
    if (this.#quick.size === 0 || this.#timer !== undefined) return;
    this.#setAt = this.options.clock();
    this.#taken = this.options.processorTime();
    this.#timer = setTimeout(this.#onTimer, LOOK_EVERY_MS);
  }

  #keepPace(passedMs: number, takenMs: number): void {
    const ownShare = Math.min(takenMs / passedMs, 1);
    const lateMs = (passedMs - LOOK_EVERY_MS) * ownShare;
    const wanted = lateMs > LATE_MS ? this.#pace * SLOWED_DOWN_BY : this.#pace + SPED_UP_BY;
    this.#pace = Math.min(Math.max(wanted, LEAST_PACE, LEAST_SLOTS / this.options.quick), 1);
  }

  #moveSlow(slowSince: number): void {
    this.#stuck = 0;
    for (const slot of this.#quick) {
      if (slot.takenAt > slowSince) return;
      if (this.hasRoomForSlow) {
        this.#quick.delete(slot);
        this.#countAsSlow(slot);
      } else this.#stuck += 1;
    }
  }

  #countAsSlow(slot: Slot): void {
    slot.isSlow = true;
    this.#slow += 1;
  }
}

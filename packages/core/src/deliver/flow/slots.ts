/** How many attempts a process may have running. */
export interface SlotsOptions {
  /** For those that have just begun. */
  readonly quick: number;
  /** Beside these, for those that have been running for a while. */
  readonly slow: number;
  /** Called whenever the total number of allowed attempts changes. */
  readonly onCapacity: (capacity: number) => void;
  /** Milliseconds, of a clock that never jumps. */
  readonly clock: () => number;
  /** Measure how much processor time this process takes for one turn of its event loop. Milliseconds. */
  readonly measureTurn: (onMeasured: (processorMs: number) => void) => void;
}

/** One attempt's slot. */
export interface Slot {
  readonly takenAt: number;
  /** Whether it mostly waits for its receiver: that is known to be slow, or has been slow for a while. */
  isWaiting: boolean;
  isSlow: boolean;
}

/** The expected pace of an attempt. Ask for a slow one only if there is room. */
export type AttemptPace = 'quick' | 'patient' | 'slow';

/** Longer than a healthy receiver takes, and short enough that those that hang affect no other endpoint. */
export const SLOW_AFTER_MS = 250;
const CHECK_EVERY_MS = 50;

// A turn of the event loop takes this long when more is running than the processor can handle. Further work
// would wait in this process, in front of later work, and gain nothing: it is better off in the queue, which
// has a fair order. Only this process' own processor time counts: other processes may delay a timer.
export const LONG_TURN_MS = 5;
const SLOWED_DOWN_BY = 0.7;
const SPED_UP_BY = 1 / 16;
/**
 * Enough to keep a processor busy with receivers that respond within some milliseconds, as a share of all
 * slots and as a number.
 */
const LEAST_PACE = 1 / 16;
const LEAST_SLOTS = 8;

// Of the quick slots, for who comes next. Few are enough: the others become free all the time. It is one at least, unless
// there are so few slots that an endpoint would lack it.
const KEPT_IDLE = 1 / 16;

/**
 * Keeps slots free for endpoints that respond quickly. An attempt that has been running for a while counts as
 * slow, and the worker may take one more job in its place, as long as there is room among the slow ones. The
 * number of quick ones shrinks while the process is late, apart from those that wait for their receivers.
 */
export class Slots {
  // In the order of their start, so that the oldest are checked first.
  readonly #quick = new Set<Slot>();
  #slow = 0;
  #pace = 1;
  /** Quick ones that wait, and use no processor. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  /** As the timer was set. */
  #isCalm = true;

  constructor(private readonly options: SlotsOptions) {}

  /** How many attempts may be running in total at present. */
  get capacity(): number {
    const { quick } = this.options;
    return Math.min(Math.floor(quick * this.#pace) + this.#waiting, quick) + this.#slow;
  }

  /** How many attempts are running. */
  get inUse(): { readonly quick: number; readonly slow: number } {
    return { quick: this.#quick.size, slow: this.#slow };
  }

  /** How many of each kind may be running at present. */
  get allowed(): { readonly quick: number; readonly slow: number } {
    return { quick: this.capacity - this.#slow, slow: this.options.slow };
  }

  /** The share of the quick slots in use at the moment: 1 unless the process is late. */
  get pace(): number {
    return this.#pace;
  }

  /**
   * How many of the idle slots an endpoint may have beyond its share: a sixteenth of the quick slots stays free for new
   * deliveries, and half of the slow ones for endpoints that begin to hang.
   */
  get spare(): number {
    if (this.#slow > this.options.slow / 2) return 0;
    const quick = this.capacity - this.#slow;
    const keptIdle = quick < LEAST_SLOTS ? 0 : Math.max(quick * KEPT_IDLE, 1);
    return Math.max(Math.ceil(quick - keptIdle) - this.#quick.size, 0);
  }

  get hasRoomForSlow(): boolean {
    return this.#slow < this.options.slow;
  }

  take(pace: AttemptPace): Slot {
    const slot = { takenAt: this.options.clock(), isWaiting: false, isSlow: false };
    const before = this.capacity;
    if (pace === 'slow') this.#countAsSlow(slot);
    else this.#quick.add(slot);
    if (pace === 'patient') this.#countAsWaiting(slot);
    this.#announceIfChanged(before);
    this.#keepChecking();
    return slot;
  }

  leave(slot: Slot): void {
    const before = this.capacity;
    if (slot.isSlow) this.#slow -= 1;
    else this.#removeQuick(slot);
    this.#announceIfChanged(before);
  }

  readonly #onTimer = () => {
    this.#timer = undefined;
    const before = this.capacity;
    this.#moveSlow(this.options.clock() - SLOW_AFTER_MS);
    this.#announceIfChanged(before);
    this.options.measureTurn(this.#keepPace);
    this.#keepChecking();
  };

  #keepChecking(): void {
    const isAtRest = this.#quick.size === 0 && this.#pace === 1;
    if (isAtRest) return;
    // So few attempts do not make a process late. Each check would wake it up.
    const isCalm = this.#quick.size <= this.options.quick * LEAST_PACE && this.#pace === 1;
    if (this.#timer !== undefined && (isCalm || !this.#isCalm)) return;
    clearTimeout(this.#timer);
    this.#isCalm = isCalm;
    this.#timer = setTimeout(this.#onTimer, isCalm ? SLOW_AFTER_MS : CHECK_EVERY_MS);
  }

  readonly #keepPace = (turnMs: number): void => {
    const before = this.capacity;
    const wanted = turnMs > LONG_TURN_MS ? this.#pace * SLOWED_DOWN_BY : this.#pace + SPED_UP_BY;
    this.#pace = Math.min(Math.max(wanted, LEAST_PACE, LEAST_SLOTS / this.options.quick), 1);
    this.#announceIfChanged(before);
  };

  #announceIfChanged(before: number): void {
    if (this.capacity !== before) this.options.onCapacity(this.capacity);
  }

  #moveSlow(slowSince: number): void {
    for (const slot of this.#quick) {
      if (slot.takenAt > slowSince) return;
      if (this.hasRoomForSlow) {
        this.#removeQuick(slot);
        this.#countAsSlow(slot);
      } else if (!slot.isWaiting) this.#countAsWaiting(slot);
    }
  }

  #removeQuick(slot: Slot): void {
    this.#quick.delete(slot);
    if (slot.isWaiting) this.#waiting -= 1;
  }

  #countAsWaiting(slot: Slot): void {
    slot.isWaiting = true;
    this.#waiting += 1;
  }

  #countAsSlow(slot: Slot): void {
    slot.isSlow = true;
    this.#slow += 1;
  }
}

/** Measure the processor time of one turn of this process' event loop. */
export function measureTurn(onMeasured: (processorMs: number) => void): void {
  const startedAt = performance.now();
  setImmediate(() => {
    const passedMs = performance.now() - startedAt;
    // Reading the processor time takes up to half a millisecond.
    if (passedMs <= LONG_TURN_MS) return onMeasured(passedMs);
    const before = process.cpuUsage();
    const turnStartedAt = performance.now();
    setImmediate(() => {
      const { user, system } = process.cpuUsage(before);
      // Other threads of the process count in one of these, not in the other.
      onMeasured(Math.min((user + system) / 1_000, performance.now() - turnStartedAt));
    });
  });
}

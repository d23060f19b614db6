/** Whoever was held once waits longer: to hold it again costs more than a slot. */
const PATIENCE_OF_HELD = 4;

interface Waiter {
  readonly resolve: (hasPlace: boolean) => void;
  readonly wasHeld: boolean;
  /** How often it may find that nothing has moved. */
  patience: number;
}

/**
 * Those that wait for a place at one endpoint. As long as places come free they stay, however many are before them: whoever
 * is sent away has to be held, and to come again. When none has come free for a while they go, and so does who comes next,
 * until one does.
 */
export class WaitingLine {
  #waiters: Waiter[] = [];
  #hasMoved = false;
  #isStuck = false;
  #isLooking = false;

  /** @param patienceMs how long is a while. */
  constructor(private readonly patienceMs: number) {}

  get length(): number {
    return this.#waiters.length;
  }

  /** Whether there is a place, once it is known. Those that were held are before those that come for the first time. */
  async join(wasHeld: boolean): Promise<boolean> {
    if (this.#isStuck && !wasHeld) return false;
    return await new Promise((resolve) => {
      const end = wasHeld ? this.#waiters.findIndex((waiter) => !waiter.wasHeld) : -1;
      const waiter = { resolve, wasHeld, patience: wasHeld ? PATIENCE_OF_HELD : 1 };
      this.#waiters.splice(end < 0 ? this.#waiters.length : end, 0, waiter);
      if (!this.#isLooking) this.#lookLater();
    });
  }

  /** A place has come free: tells whether the first one took it. */
  move(): boolean {
    this.#hasMoved = true;
    this.#isStuck = false;
    const first = this.#waiters.shift();
    first?.resolve(true);
    return first !== undefined;
  }

  // Behind the answers that have come while this process was not running.
  #lookLater(): void {
    this.#isLooking = true;
    setTimeout(() => setImmediate(this.#lookAround), this.patienceMs);
  }

  readonly #lookAround = (): void => {
    if (!this.#hasMoved) this.#sendImpatientAway();
    this.#hasMoved = false;
    this.#isLooking = false;
    if (this.#waiters.length > 0) this.#lookLater();
  };

  #sendImpatientAway(): void {
    this.#isStuck = this.#waiters.length > 0;
    for (const waiter of this.#waiters) {
      waiter.patience -= 1;
      if (waiter.patience === 0) waiter.resolve(false);
    }
    this.#waiters = this.#waiters.filter(({ patience }) => patience > 0);
  }
}

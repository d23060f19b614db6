/** A delivery that was held once waits longer: holding it again costs more than a slot. */
const PATIENCE_OF_HELD = 4;

interface Waiter {
  readonly resolve: (hasPermit: boolean) => void;
  readonly wasHeld: boolean;
  /** How often it may find that no permit became free. */
  patience: number;
}

/**
 * Deliveries that wait for a permit of one endpoint. They stay for as long as permits become free, however
 * many are in front: a delivery that is sent away has to be held, and to come again. When no permit has
 * become free for a while they go, and so does the next one that comes, until one becomes free.
 */
export class Waiters {
  #waiters: Waiter[] = [];
  #hasMoved = false;
  #isStuck = false;
  #isChecking = false;

  /** @param patienceMs the length of that while. */
  constructor(private readonly patienceMs: number) {}

  get length(): number {
    return this.#waiters.length;
  }

  /** Resolves to whether there is a permit. Held deliveries come before new ones. */
  async join(wasHeld: boolean): Promise<boolean> {
    if (this.#isStuck && !wasHeld) return false;
    return await new Promise((resolve) => {
      const end = wasHeld ? this.#waiters.findIndex((waiter) => !waiter.wasHeld) : -1;
      const waiter = { resolve, wasHeld, patience: wasHeld ? PATIENCE_OF_HELD : 1 };
      this.#waiters.splice(end < 0 ? this.#waiters.length : end, 0, waiter);
      if (!this.#isChecking) this.#checkLater();
    });
  }

  /** A permit has become free: gives whether the first one took it. */
  move(): boolean {
    this.#hasMoved = true;
    this.#isStuck = false;
    const first = this.#waiters.shift();
    first?.resolve(true);
    return first !== undefined;
  }

  // Run after the responses that have arrived while this process was not running.
  #checkLater(): void {
    this.#isChecking = true;
    setTimeout(() => setImmediate(this.#check), this.patienceMs);
  }

  readonly #check = (): void => {
    if (!this.#hasMoved) this.#sendImpatientAway();
    this.#hasMoved = false;
    this.#isChecking = false;
    if (this.#waiters.length > 0) this.#checkLater();
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

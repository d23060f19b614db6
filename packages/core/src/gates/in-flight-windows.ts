/** The attempts of this process at one endpoint: how many may run, how many do, and who waits for a place. */
interface Window {
  size: number;
  inFlight: number;
  readonly waiting: Waiter[];
}

interface Waiter {
  readonly admit: () => void;
  readonly patience: NodeJS.Timeout;
}

/** How the use of a place ended; `unused`: nothing is known of the receiver by it. */
export type PlaceUse = 'succeeded' | 'failed' | 'unused';

export interface InFlightWindowsOptions {
  /** The most attempts that one endpoint may have under way. */
  readonly maxSize: number;
  /** How long an attempt may wait for a place before it has to make room. Milliseconds. */
  readonly patienceMs: number;
}

// Little for a stranger, so that many of them that hang leave slots to the others; twice as much after each success.
const FIRST_SIZE = 2;
/** For an endpoint whose last attempt failed. */
const MIN_SIZE = 1;

/**
 * Keeps one endpoint from taking the slots of all others, by memory alone: it may have a few attempts under way, more
 * with each success and less with each failure. A healthy endpoint hardly notices, since its places come free within
 * milliseconds. What has to wait for longer is to be parked.
 */
export class InFlightWindows {
  readonly #windows = new Map<string, Window>();

  constructor(private readonly options: InFlightWindowsOptions) {}

  /**
   * Resolves to whether there was a place. Whoever got one has to `leave`.
   *
   * @param isFailing whether the endpoint's last attempt failed, be it another worker's.
   */
  async enter(endpointId: string, isFailing: boolean): Promise<boolean> {
    return this.enterAtOnce(endpointId, isFailing) || (await this.#waitForPlace(endpointId));
  }

  /** The same without waiting, for an endpoint whose places are not expected to come free soon. */
  enterAtOnce(endpointId: string, isFailing: boolean): boolean {
    const window = this.#windowOf(endpointId);
    if (isFailing && window.inFlight === 0) window.size = MIN_SIZE;
    if (window.inFlight >= window.size) return false;
    window.inFlight += 1;
    return true;
  }

  leave(endpointId: string, use: PlaceUse): void {
    const window = this.#windowOf(endpointId);
    window.inFlight -= 1;
    window.size = this.#sizeAfter(use, window.size);
    this.#admitWaiting(window);
    // Forgotten when idle: memory is for what is under way, and a window grows again within milliseconds.
    if (window.inFlight === 0) this.#windows.delete(endpointId);
  }

  /** How many more may start at an endpoint now. */
  freePlaces(endpointId: string): number {
    const window = this.#windows.get(endpointId);
    return window ? Math.max(window.size - window.inFlight, 0) : FIRST_SIZE;
  }

  #windowOf(endpointId: string): Window {
    const known = this.#windows.get(endpointId);
    if (known) return known;
    const window: Window = { size: Math.min(FIRST_SIZE, this.options.maxSize), inFlight: 0, waiting: [] };
    this.#windows.set(endpointId, window);
    return window;
  }

  #sizeAfter(use: PlaceUse, size: number): number {
    switch (use) {
      case 'succeeded':
        return Math.min(size * 2, this.options.maxSize);
      case 'failed':
        return Math.max(Math.floor(size / 2), MIN_SIZE);
      case 'unused':
        return size;
    }
  }

  #waitForPlace(endpointId: string): Promise<boolean> {
    const window = this.#windowOf(endpointId);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        admit: () => resolve(true),
        patience: setTimeout(() => {
          window.waiting.splice(window.waiting.indexOf(waiter), 1);
          resolve(false);
        }, this.options.patienceMs),
      };
      window.waiting.push(waiter);
    });
  }

  #admitWaiting(window: Window): void {
    while (window.inFlight < window.size) {
      const next = window.waiting.shift();
      if (!next) return;
      clearTimeout(next.patience);
      window.inFlight += 1;
      next.admit();
    }
  }
}

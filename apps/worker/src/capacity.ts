/** A user of a shared capacity. */
export interface Sharer {
  /** The number of its running jobs. */
  readonly runningCount: number;
  /** Whether more jobs may wait for it. */
  readonly wantsMore: boolean;
  /** Called when others may have left it room. */
  takeMore(): void;
}

/**
 * How many jobs may run in this process, over several queues. Capacity that one queue does not use goes to
 * the others. When it is short, all that want more have an equal part. Each may always have at least one, so
 * the total can exceed the capacity by the number of queues, less one.
 */
export class SharedCapacity {
  readonly #sharers = new Set<Sharer>();

  constructor(private capacity: number) {}

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
  }

  leave(sharer: Sharer): void {
    this.#sharers.delete(sharer);
    this.offerToOthers(sharer);
  }

  /** Set how many may run from now on. */
  setCapacity(capacity: number): void {
    this.capacity = capacity;
    for (const sharer of this.#sharers) sharer.takeMore();
  }

  /** How many jobs of one sharer may run at present. */
  limitOf(sharer: Sharer): number {
    const others = [...this.#sharers].filter((one) => one !== sharer);
    const share = Math.floor(this.capacity / (1 + others.filter(({ wantsMore }) => wantsMore).length));
    const kept = others.reduce(
      (sum, { runningCount, wantsMore }) => sum + (wantsMore ? Math.max(runningCount, share) : runningCount),
      0,
    );
    return Math.max(this.capacity - kept, 1);
  }

  /** Call it when a sharer has fewer running jobs than before, or no more to take. */
  offerToOthers(sharer: Sharer): void {
    for (const other of this.#sharers) if (other !== sharer) other.takeMore();
  }
}

/** One of those that take jobs by the same capacity. */
export interface Sharer {
  /** Its jobs that are under way. */
  readonly taken: number;
  /** Whether there may be more for it to take. */
  readonly isHungry: boolean;
  /** To be called when others may have left it room. */
  takeMore(): void;
}

/**
 * How many jobs may be under way in this process, whichever of several queues they are from. What one does not use is the
 * others'; of what is short, each that wants more has an equal part. One at least each may always have, so that there can be
 * more by as many as there are queues, less one.
 */
export class SharedCapacity {
  readonly #sharers = new Set<Sharer>();

  constructor(private capacity: number) {}

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
  }

  leave(sharer: Sharer): void {
    this.#sharers.delete(sharer);
    this.tellOthers(sharer);
  }

  /** How many there may be from now on. */
  setCapacity(capacity: number): void {
    this.capacity = capacity;
    for (const sharer of this.#sharers) sharer.takeMore();
  }

  /** How many jobs of one may be under way, as things stand. */
  limitOf(sharer: Sharer): number {
    const others = [...this.#sharers].filter((one) => one !== sharer);
    const share = Math.floor(this.capacity / (1 + others.filter(({ isHungry }) => isHungry).length));
    const kept = others.reduce(
      (sum, { taken, isHungry }) => sum + (isHungry ? Math.max(taken, share) : taken),
      0,
    );
    return Math.max(this.capacity - kept, 1);
  }

  /** That one has fewer jobs under way than before, or no more to take. */
  tellOthers(sharer: Sharer): void {
    for (const other of this.#sharers) if (other !== sharer) other.takeMore();
  }
}

let calls: (() => void)[] = [];

/**
 * Call this at the end of the current turn of the event loop. What such a call adds is called in the same
 * turn. It must not throw.
 */
export function atEndOfTurn(call: () => void): void {
  if (calls.push(call) === 1) setImmediate(callAll);
}

function callAll(): void {
  for (let i = 0; i < calls.length; i += 1) calls[i]?.();
  calls = [];
}

type Work<Item> = (items: readonly Item[]) => Promise<void>;

interface Group<Item> {
  readonly items: Item[];
  size: number;
  readonly done: Promise<void>;
}

/** Does work of the same name that comes in one turn of the event loop together, at its end. */
export class GatheredWork<Item> {
  readonly #open = new Map<string, Group<Item>>();

  /** @param mostTogether the sizes of items that are worked on together sum up to this at most. */
  constructor(private readonly mostTogether: number) {}

  /** Settles as the work on all items of its group does. @param work the first one's is done for all. */
  add(name: string, item: Item, size: number, work: Work<Item>): Promise<void> {
    let group = this.#open.get(name);
    if (!group || group.size + size > this.mostTogether) {
      group = this.#begin(name, work);
      this.#open.set(name, group);
    }
    group.items.push(item);
    group.size += size;
    return group.done;
  }

  #begin(name: string, work: Work<Item>): Group<Item> {
    const items: Item[] = [];
    const done = new Promise<void>((resolve, reject) => {
      atEndOfTurn(() => {
        this.#open.delete(name);
        work(items).then(resolve, reject);
      });
    });
    return { items, size: 0, done };
  }
}

import { LRUCache } from 'lru-cache';
import { steadyClock } from './clock';

interface LruOptions<V> {
  /** Called with each entry that is removed, for want of room or otherwise. */
  readonly dispose?: (value: V) => void;
}

/**
 * A cache of at most this many entries, which takes memory as it fills. With the number as its `max`, the
 * library would reserve room for all of them at once: 9 ms and 2 MB for 50,000, again for each cache and at
 * each start.
 */
export function createLru<K extends string, V extends object | number | string | boolean>(
  maxEntries: number,
  options: LruOptions<V> = {},
): LRUCache<K, V> {
  return new LRUCache<K, V>({ ...options, maxSize: maxEntries, sizeCalculation: () => 1 });
}

/** The most remembered texts or, for texts that may be long, about how much memory they may take. */
export type CacheBound = { readonly entries: number } | { readonly bytes: number };

/** A text, and its parsed form. */
export interface Remembered<T> {
  readonly raw: string;
  readonly parsed: T;
}

// Both the text and its parsed form, at two bytes a character each.
const BYTES_PER_CHARACTER = 4;
// The memory of an entry beside that.
const ENTRY_BYTES = 200;

/**
 * Remembers the parsed form of a text, per key, as long as the text stays the same.
 *
 * Records are read from Redis each time they are used, so that a change is in force at once for all work that starts after
 * it. Reading is cheap. Parsing is not, so it is done once for each change.
 */
export class ParsedCache<T> {
  readonly #entries: LRUCache<string, Remembered<T>>;

  constructor(
    private readonly parse: (raw: string) => T,
    bound: CacheBound,
  ) {
    this.#entries =
      'entries' in bound
        ? createLru(bound.entries)
        : new LRUCache<string, Remembered<T>>({ maxSize: bound.bytes, sizeCalculation: sizeOf });
  }

  /** @param raw absent: the key is the text itself. */
  get(key: string, raw = key): T {
    // The oldest goes first, used or not: with thousands of entries, noting each use costs as much as parsing a short one.
    const known = this.#entries.peek(key);
    if (known?.raw === raw) return known.parsed;
    const parsed = this.parse(raw);
    this.#entries.set(key, { raw, parsed });
    return parsed;
  }

  /** The last parsed form. The record may have changed since. */
  last(key: string): Remembered<T> | undefined {
    return this.#entries.peek(key);
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}

function sizeOf({ raw }: Remembered<unknown>, key: string): number {
  return ENTRY_BYTES + (key.length + raw.length) * BYTES_PER_CHARACTER;
}

export interface SharedResultsOptions<Value> {
  readonly entries: number;
  /** How long a result is given again, from the time when its work began. Milliseconds. */
  readonly shownForMs: number;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: (() => number) | undefined;
  /** Whether a result is given again. By default every one. */
  readonly isKept?: (value: Value) => boolean;
}

interface SharedResult<Value> {
  readonly value: Promise<Value>;
  readonly begunAt: number;
}

/** Bounds the cost of work, however often it is asked for: concurrent callers share it, and later ones its result. */
export class SharedResults<Value> {
  readonly #known: LRUCache<string, SharedResult<Value>>;

  constructor(private readonly options: SharedResultsOptions<Value>) {
    this.#known = createLru(options.entries);
  }

  /** A failure goes to the callers that wait for it, and not to later ones. */
  async get(name: string, work: () => Promise<Value>): Promise<Value> {
    const { shownForMs, now = steadyClock, isKept = () => true } = this.options;
    const known = this.#known.get(name);
    if (known && now() - known.begunAt < shownForMs) return await known.value;
    const own = { value: work(), begunAt: now() };
    this.#known.set(name, own);
    const isShown = await own.value.then(isKept, () => false);
    if (!isShown && this.#known.get(name) === own) this.#known.delete(name);
    return await own.value;
  }
}

/** A load that is running or queued, and its version. */
interface Loading<Value> {
  version: string;
  readonly done: Promise<Value>;
}

/**
 * Load the value of a key once for all concurrent callers, and never twice at once. A caller that names a
 * version has seen it already: a load that began for the same version includes it, any other one may have
 * read before it existed. All callers that came too late for the running load share the next one, however
 * many versions they name: each of these exists by then.
 *
 * @param load gets the version that was named last.
 */
export function createLoadOnce<Key, Value>(load: (key: Key, version: string) => Promise<Value>) {
  const running = new Map<Key, Loading<Value>>();
  const next = new Map<Key, Loading<Value>>();

  return async function loadOnce(key: Key, version: string): Promise<Value> {
    const current = running.get(key);
    if (current?.version === version) return await current.done;
    const following = next.get(key);
    if (following) {
      following.version = version;
      return await following.done;
    }
    return await (current ? follow(key, version, current.done) : begin(key, version));
  };

  function begin(key: Key, version: string): Promise<Value> {
    const done = load(key, version).finally(() => running.delete(key));
    running.set(key, { version, done });
    return done;
  }

  function follow(key: Key, version: string, before: Promise<Value>): Promise<Value> {
    // Callers of that load get its failure.
    const done = before.catch(() => {}).then(() => begin(key, take(key)?.version ?? version));
    next.set(key, { version, done });
    return done;
  }

  function take(key: Key): Loading<Value> | undefined {
    const following = next.get(key);
    next.delete(key);
    return following;
  }
}

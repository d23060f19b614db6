import { LRUCache } from 'lru-cache';

/**
 * Remembers what a text was parsed into, per key, for as long as the text stays the same.
 *
 * Records are read from Redis each time they are used, so that a change is in force at once for whatever
 * starts after it. Reading is cheap; parsing and preparing is not, and this does it once per change.
 */
export class ParsedCache<T> {
  readonly #entries: LRUCache<string, { readonly raw: string; readonly parsed: T }>;

  constructor(
    private readonly parse: (raw: string) => T,
    maxEntries: number,
  ) {
    this.#entries = new LRUCache({ max: maxEntries });
  }

  get(key: string, raw: string): T {
    const known = this.#entries.get(key);
    if (known?.raw === raw) return known.parsed;
    const parsed = this.parse(raw);
    this.#entries.set(key, { raw, parsed });
    return parsed;
  }
}

import { LRUCache } from 'lru-cache';
import { createLru } from './lru';

/** How many texts are remembered at most, or, of texts that may be long, about how much memory they take. */
export type CacheBound = { readonly entries: number } | { readonly bytes: number };

interface Entry<T> {
  readonly raw: string;
  readonly parsed: T;
}

// Both the text and what was parsed from it, at two bytes a character each.
const BYTES_PER_CHARACTER = 4;
// What an entry takes beside that.
const ENTRY_BYTES = 200;

/**
 * Remembers what a text was parsed into, per key, for as long as the text stays the same.
 *
 * Records are read from Redis each time they are used, so that a change is in force at once for whatever
 * starts after it. Reading is cheap; parsing and preparing is not, and this does it once per change.
 */
export class ParsedCache<T> {
  readonly #entries: LRUCache<string, Entry<T>>;

  constructor(
    private readonly parse: (raw: string) => T,
    bound: CacheBound,
  ) {
    this.#entries =
      'entries' in bound
        ? createLru(bound.entries)
        : new LRUCache<string, Entry<T>>({ maxSize: bound.bytes, sizeCalculation: sizeOf });
  }

  get(key: string, raw: string): T {
    const known = this.#entries.get(key);
    if (known?.raw === raw) return known.parsed;
    const parsed = this.parse(raw);
    this.#entries.set(key, { raw, parsed });
    return parsed;
  }
}

function sizeOf({ raw }: Entry<unknown>, key: string): number {
  return ENTRY_BYTES + (key.length + raw.length) * BYTES_PER_CHARACTER;
}

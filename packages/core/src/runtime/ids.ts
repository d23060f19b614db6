import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from './clock';

/** Gives `<prefix>_<22 characters>`; later ids sort after earlier ones. */
export type NewId = (prefix: string) => string;

// Crockford's alphabet in lower case: sorts like the numbers it stands for, and has no look-alikes.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
export const TIME_CHARACTERS = 10; // 50 bits of milliseconds: good for 35,000 years.
const RANDOM_CHARACTERS = 12; // 60 bits: two ids of one millisecond collide once in 10^18.
const POOL_BYTES = 4096;

/** Ids that begin with the time, so that lists sort by them and neighbours in time are neighbours in Redis. */
export function createNewId(clock: Clock): NewId {
  const nextRandom = createRandomCharacters();
  return (prefix) => `${prefix}_${encodeTime(clock())}${nextRandom(RANDOM_CHARACTERS)}`;
}

/** Ids that look the same, and are the same ones each time they are made from the same seed, in the same order. */
export function createSeededNewId(epochMs: number, seed: string): NewId {
  let count = 0;
  return (prefix) => derivedId(prefix, epochMs, `${seed}:${count++}`);
}

/** The id of what the source stands for: the same each time. */
export function derivedId(prefix: string, epochMs: number, source: string): string {
  const digest = createHash('sha256').update(source).digest();
  return `${prefix}_${encodeTime(epochMs)}${encodeBytes(digest, RANDOM_CHARACTERS)}`;
}

export function encodeTime(epochMs: number): string {
  let text = '';
  for (let rest = epochMs, i = 0; i < TIME_CHARACTERS; i += 1, rest = Math.floor(rest / 32)) {
    text = ALPHABET.charAt(rest % 32) + text;
  }
  return text;
}

export function encodeBytes(bytes: Uint8Array, characters: number): string {
  let text = '';
  for (let i = 0; i < characters; i += 1) text += ALPHABET.charAt((bytes[i] ?? 0) & 31);
  return text;
}

// One call for random bytes costs more than a whole id, so they are drawn by the page.
function createRandomCharacters(): (count: number) => string {
  let pool = new Uint8Array(0);
  let used = 0;
  return (count) => {
    if (used + count > pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += count;
    return encodeBytes(pool.subarray(used - count, used), count);
  };
}

import { createHash, hkdfSync, randomBytes, randomFillSync } from 'node:crypto';
import type { Clock } from './clock';
import { ID_ALPHABET as ALPHABET, TIME_CHARACTERS } from './id-time';

/** Gives `<prefix>_<22 characters>`; later ids sort after earlier ones. */
export type NewId = (prefix: string) => string;

const HALF_CHARACTERS = 6; // 2 × 30 random bits: two ids of one millisecond collide once in 10^17.
const RANDOM_CHARACTERS = 2 * HALF_CHARACTERS;
const HALF_RANGE = 32 ** HALF_CHARACTERS;
// The half in front starts below the middle, so that there is room above it for all ids of a millisecond.
const FRONT_RANGE = HALF_RANGE / 2;
// From one id to the next within a millisecond: so far that its neighbour can't be guessed.
const STEP_RANGE = 2 ** 24;
const POOL_NUMBERS = 1_024;

/**
 * Ids that begin with the time, so that lists sort by them and neighbours in time are neighbours in Redis.
 * The ids of one process sort in the order of their creation, also within a millisecond and when the clock
 * goes back.
 */
export function createNewId(clock: Clock): NewId {
  const nextRandom = createRandomNumbers();
  let time = -1;
  let front = 0;
  let back = 0;

  function startMillisecond(now: number): void {
    time = now;
    front = nextRandom() % FRONT_RANGE;
    back = nextRandom() % HALF_RANGE;
  }

  function stepOn(): void {
    back += 1 + (nextRandom() % STEP_RANGE);
    if (back < HALF_RANGE) return;
    back -= HALF_RANGE;
    front += 1;
  }

  return (prefix) => {
    const now = clock();
    if (now > time) startMillisecond(now);
    else stepOn();
    return `${prefix}_${encodeTime(time)}${encodeNumber(front, HALF_CHARACTERS)}${encodeNumber(back, HALF_CHARACTERS)}`;
  };
}

/** Ids of the same form. The same seed gives the same ids in the same order. */
export function createSeededNewId(epochMs: number, seed: string): NewId {
  let count = 0;
  return (prefix) => derivedId(prefix, epochMs, `${seed}:${count++}`);
}

/** The id derived from a source: the same each time. */
export function derivedId(prefix: string, epochMs: number, source: string): string {
  const digest = createHash('sha256').update(source).digest();
  return `${prefix}_${encodeTime(epochMs)}${encodeBytes(digest, RANDOM_CHARACTERS)}`;
}

export function encodeTime(epochMs: number): string {
  return encodeNumber(epochMs, TIME_CHARACTERS);
}

export function encodeBytes(bytes: Uint8Array, characters: number): string {
  let text = '';
  for (let i = 0; i < characters; i += 1) text += ALPHABET.charAt((bytes[i] ?? 0) & 31);
  return text;
}

// Two characters at a time: there are two ids to each request.
const PAIRS = Array.from(
  { length: 1_024 },
  (_, number) => ALPHABET.charAt(Math.floor(number / 32)) + ALPHABET.charAt(number % 32),
);

/** @param characters an even number. */
function encodeNumber(number: number, characters: number): string {
  let text = '';
  for (let rest = number, i = 0; i < characters; i += 2, rest = Math.floor(rest / 1_024)) {
    text = `${PAIRS[rest % 1_024] ?? ''}${text}`;
  }
  return text;
}

// One call for random bytes costs more than a whole id, so they are drawn by the page. From 0 up to 2^32.
function createRandomNumbers(): () => number {
  const pool = new Uint32Array(POOL_NUMBERS);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    next += 1;
    return pool[next - 1] ?? 0;
  };
}

/** Give this many bytes that nobody can guess. */
export type SecretBytes = (count: number) => Buffer;

export const newSecretBytes: SecretBytes = (count) => randomBytes(count);

/**
 * Bytes that nobody can guess without `secret`. The same secret and seed give the same bytes in the same
 * order.
 */
export function createSeededSecretBytes(secret: string, seed: string): SecretBytes {
  let calls = 0;
  return (count) => Buffer.from(hkdfSync('sha256', secret, seed, `secret bytes ${calls++}`, count));
}

import { randomInt } from 'node:crypto';

const DIGITS_AND_LOWER_CASE = '0123456789abcdefghijklmnopqrstuvwxyz';
const UPPER_CASE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const ID_CHARACTERS = 16;
const SECRET_CHARACTERS = 43; // 256 bits.

/** A new key, which nobody can guess. */
export function newApiKey(): string {
  const id = randomText(ID_CHARACTERS, DIGITS_AND_LOWER_CASE);
  return `whk_${id}_${randomText(SECRET_CHARACTERS, DIGITS_AND_LOWER_CASE + UPPER_CASE)}`;
}

function randomText(length: number, alphabet: string): string {
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

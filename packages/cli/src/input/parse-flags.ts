import { InvalidArgumentError } from 'commander';

/** @throws InvalidArgumentError. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new InvalidArgumentError('It must be a whole number.');
}

/** Like a count, from 1. @throws InvalidArgumentError. */
export function parsePositive(text: string): number {
  const count = parseCount(text);
  if (count > 0) return count;
  throw new InvalidArgumentError('It must be at least 1.');
}

/** Words separated by commas; the flag may be given again. @throws InvalidArgumentError. */
export function parseList(text: string, before: readonly string[] = []): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError('It must be words separated by commas.');
  return [...before, ...words];
}

export type Pairs = Readonly<Record<string, string>>;

/** `name: value`, as in a request; the flag may be given again. @throws InvalidArgumentError. */
export function parseHeader(text: string, before: Pairs = {}): Pairs {
  return addPair(text, ':', before);
}

/** `name=value`; the flag may be given again. @throws InvalidArgumentError. */
export function parseMember(text: string, before: Pairs = {}): Pairs {
  return addPair(text, '=', before);
}

function addPair(text: string, separator: string, before: Pairs): Pairs {
  const at = text.indexOf(separator);
  const name = text.slice(0, at).trim();
  if (at < 0 || name === '') throw new InvalidArgumentError(`It must be a name, "${separator}" and a value.`);
  return { ...before, [name]: text.slice(at + 1).trim() };
}

/** An id as the API has them, or a name in its place. @throws InvalidArgumentError. */
export function parseId(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text) && text !== '.' && text !== '..') return text;
  throw new InvalidArgumentError('It must be an id, without spaces.');
}

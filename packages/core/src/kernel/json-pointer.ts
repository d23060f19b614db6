import { shorten } from './shorten';

/** A path as a JSON Pointer (RFC 6901); of long names no more than the beginning. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${shorten(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

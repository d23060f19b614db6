import { createHash, createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { shownUrl } from './shown-url';

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The same name for the same origin and path on the same machine, so that a later start continues where it was. */
export function defaultName(url: URL, host: string = hostname()): string {
  const digest = createHash('sha256').update(shownUrl(url)).digest('hex').slice(0, 8);
  const readable = host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40);
  return `${readable}${readable === '' ? '' : '-'}${digest}`;
}

/** @throws InvalidArgumentError. */
export function parseName(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be 1 to 63 of a-z 0-9 -, and begin and end with a letter or digit.',
  );
}

/** A listener's secret, the same for the same name as long as the key is: a receiver's settings need not change. */
export function secretOf(name: string, apiKey: string): string {
  return `whsec_${createHmac('sha256', apiKey).update(`listener:${name}`).digest('base64')}`;
}

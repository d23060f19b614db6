import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One request at a bound of the API, and its result. */
export interface BoundsCase {
  /** With the case's number in front, so that no two have the same. */
  readonly title: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** In full. */
    readonly body?: unknown;
  };
  readonly expected: {
    readonly status: number;
    readonly code?: string;
    readonly pointers?: readonly string[];
  };
}

interface Corpus {
  readonly settings: { readonly MAX_EVENT_BYTES: string };
  readonly cases: readonly (Omit<BoundsCase, 'title'> & { readonly what: string })[];
}

/** `conformance/bounds.json`. */
export function readBoundsCorpus() {
  const file = join(__dirname, '../../../../conformance/bounds.json');
  const { settings, cases } = JSON.parse(readFileSync(file, 'utf8')) as Corpus;
  return { settings, cases: cases.map(toCase) };
}

function toCase({ what, request, expected }: Corpus['cases'][number], index: number): BoundsCase {
  const { body, ...rest } = request;
  return {
    title: `${index + 1}: ${what}`,
    request: body === undefined ? rest : { ...rest, body: expand(body) },
    expected,
  };
}

interface Shorthand {
  readonly $repeat?: readonly [string, string, number];
  readonly $list?: readonly [unknown, number];
  readonly $nest?: number;
}

function expand(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(expand);
  const { $repeat, $list, $nest }: Shorthand = value;
  if ($repeat) return $repeat[0] + $repeat[1].repeat($repeat[2]);
  if ($list) return Array.from({ length: $list[1] }, () => $list[0]);
  if ($nest !== undefined) return JSON.parse('['.repeat($nest) + ']'.repeat($nest));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expand(member)]));
}

import type { Shape } from './schema-shape';

/** A type whose data a program gets. */
export interface TypeToWrite {
  readonly name: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly shape: Shape;
}

/** The first line of each file. */
export const NOTICE =
  'Written by "hookferry types generate" from the event types of the account. Do not change it.';

/** Names that begin with a capital, such as `OrderCreated`, each once. */
export class TypeNames {
  readonly #given = new Set<string>();

  /** @param words such as `order.created`. A name that is taken gets a number. */
  give(words: string): string {
    const joined = capitalize(words);
    const base = /^[A-Za-z]/.test(joined) ? joined : `X${joined}`;
    let name = base;
    for (let number = 2; this.#given.has(name); number += 1) name = `${base}${number}`;
    this.#given.add(name);
    return name;
  }
}

function capitalize(words: string): string {
  return words
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

/** On one line, without what would end a comment. */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replaceAll('*/', '* /')
    .replaceAll('"""', "'''")
    .replaceAll('\\', '/')
    .trim();
}

export function describe({ description, deprecated }: TypeToWrite): string {
  return `${oneLine(description)}${deprecated ? ' Deprecated.' : ''}`;
}

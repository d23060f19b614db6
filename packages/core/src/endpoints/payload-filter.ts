import { type Condition, type FilterNode, parsePayloadFilter } from './parse-payload-filter';
import { lookUp } from './payload-filter-path';
import { type Found, showFound } from './show-found';

/** What one condition has come to. */
export interface Explained extends Pick<Condition, 'path' | 'operator' | 'expected'> {
  /** What is there, long values shortened; left out: nothing is. */
  readonly found?: Found;
  readonly holds: boolean;
}

/** A filter that was read, as long as it is needed. */
export interface PayloadFilter {
  /** Whether an event with these data passes. They are what JSON.parse gives. */
  readonly matches: (data: unknown) => boolean;
  /** Every condition by itself, in the order of the filter. */
  readonly explain: (data: unknown) => readonly Explained[];
}

/** Makes a filter out of what `payloadFilterSchema` has taken. @throws TypeError for anything else. */
export function compilePayloadFilter(value: unknown): PayloadFilter {
  const parsed = parsePayloadFilter(value);
  if (parsed.faults) throw new TypeError('This is no filter.');
  return filterOf(parsed.node);
}

function filterOf(node: FilterNode): PayloadFilter {
  return {
    matches: (data) => matches(node, data),
    explain: (data) => conditionsOf(node).map((condition) => explain(condition, data)),
  };
}

const everything: PayloadFilter = { matches: () => true, explain: () => [] };

/**
 * Makes a filter out of a stored text. One that this version can't read was written by a later one: until that is back, its
 * webhook gets everything, as from a version that knows no filters.
 */
export function readStoredFilter(text: string): PayloadFilter {
  const parsed = parsePayloadFilter(JSON.parse(text));
  return parsed.faults ? everything : filterOf(parsed.node);
}

// As deep as a filter may be.
function matches(node: FilterNode, data: unknown): boolean {
  switch (node.kind) {
    case 'condition':
      return node.holds(lookUp(data, node.names));
    case 'all':
      return node.of.every((each) => matches(each, data));
    case 'any':
      return node.of.some((each) => matches(each, data));
    case 'not':
      return !matches(node.of, data);
  }
}

function conditionsOf(node: FilterNode): readonly Condition[] {
  switch (node.kind) {
    case 'condition':
      return [node];
    case 'not':
      return conditionsOf(node.of);
    case 'all':
    case 'any':
      return node.of.flatMap(conditionsOf);
  }
}

function explain({ path, operator, expected, names, holds }: Condition, data: unknown): Explained {
  const found = lookUp(data, names);
  return {
    path,
    operator,
    expected,
    ...(found === undefined ? {} : { found: showFound(found) }),
    holds: holds(found),
  };
}

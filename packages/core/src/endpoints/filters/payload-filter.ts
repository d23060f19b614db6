import { shorten } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import {
  type Condition,
  FILTER_BOUNDS,
  type FilterNode,
  lookUp,
  parsePayloadFilter,
} from './parse-payload-filter';
import type { OperatorName, Scalar } from './payload-filter-operators';

/** The result of one condition. */
export interface Explained extends Pick<Condition, 'path' | 'operator' | 'expected'> {
  /** The value found, long values shortened; absent: the member is absent. */
  readonly found?: Found;
  readonly holds: boolean;
}

/** A compiled filter. */
export interface PayloadFilter {
  /** Whether an event with these data passes. Pass the result of JSON.parse. */
  readonly matches: (data: unknown) => boolean;
  /** The result of every condition, in the order of the filter. */
  readonly explain: (data: unknown) => readonly Explained[];
  /**
   * The conditions that keep data from passing, in the order of the filter: of those that must all hold, the ones that do
   * not; of those of which one must hold, each. One that `holds` stands within `$not`. None: the data pass.
   */
  readonly explainFailure: (data: unknown) => readonly Explained[];
}

/** Compile a value that `payloadFilterSchema` has accepted. @throws TypeError for anything else. */
export function compilePayloadFilter(value: unknown): PayloadFilter {
  const parsed = parsePayloadFilter(value);
  if (parsed.validationErrors) throw new TypeError('This is no filter.');
  return filterOf(parsed.node);
}

function filterOf(node: FilterNode): PayloadFilter {
  return {
    matches: (data) => matches(node, data),
    explain: (data) => explainAll(conditionsOf(node), data),
    explainFailure: (data) => (matches(node, data) ? [] : explainAll(decisiveOf(node, data, false), data)),
  };
}

const everything: PayloadFilter = { matches: () => true, explain: () => [], explainFailure: () => [] };

/**
 * Compile a stored text. If this version can't read it, a later version wrote it: until that is back, its
 * webhook gets everything, as from a version without filters.
 */
export function readStoredFilter(text: string): PayloadFilter {
  const parsed = parsePayloadFilter(JSON.parse(text));
  return parsed.validationErrors ? everything : filterOf(parsed.node);
}

// Recursion is bounded by the depth of a filter.
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

function explainAll(conditions: readonly Condition[], data: unknown): readonly Explained[] {
  // Many conditions may be about the same object, and the names of a large one take milliseconds to read.
  const shown = new Map<unknown, Found>();
  return conditions.map((condition) => explain(condition, data, shown));
}

function explain(
  { path, operator, expected, names, holds }: Condition,
  data: unknown,
  shown: Map<unknown, Found>,
): Explained {
  const found = lookUp(data, names);
  const shownFound = shown.get(found) ?? showFound(found);
  shown.set(found, shownFound);
  return {
    path,
    operator,
    expected,
    ...(found === undefined ? {} : { found: shownFound }),
    holds: holds(found),
  };
}

/** The conditions that made a part of a filter pass, or not, as it did. */
function decisiveOf(node: FilterNode, data: unknown, passes: boolean): readonly Condition[] {
  switch (node.kind) {
    case 'condition':
      return [node];
    case 'not':
      return decisiveOf(node.of, data, !passes);
    case 'all':
    case 'any':
      return node.of
        .filter((each) => matches(each, data) === passes)
        .flatMap((each) => decisiveOf(each, data, passes));
  }
}

const SIGNS: Readonly<Record<OperatorName, string>> = {
  eq: '=',
  ne: '≠',
  lt: '<',
  lte: '≤',
  gt: '>',
  gte: '≥',
  in: 'is one of',
  not_in: 'is none of',
  exists: 'exists:',
  starts_with: 'starts with',
  ends_with: 'ends with',
  contains: 'contains',
};

/** A condition that kept data from passing, in words: `total ≥ 100, found 5`. */
export function describeFailure({ path, operator, expected, found, holds }: Explained): string {
  const condition = `${shorten(path)} ${SIGNS[operator]} ${shorten(JSON.stringify(expected))}`;
  const there = found === undefined ? 'nothing' : JSON.stringify(found);
  return `${holds ? `not (${condition})` : condition}, found ${there}`;
}

const scalar = { type: ['string', 'number', 'boolean', 'null'] };
const ordered = { type: ['number', 'string'] };
const listed = { type: 'array', items: scalar, minItems: 1, maxItems: 100 };
const text = { type: 'string' };

const operatorsForm = {
  type: 'object',
  description: 'Operators. All of them must hold.',
  properties: {
    eq: { ...scalar, description: 'Equals this value.' },
    ne: { ...scalar, description: 'Differs from this value, or is absent.' },
    lt: { ...ordered, description: 'Is less than this value.' },
    lte: { ...ordered, description: 'Is less than or equal to this value.' },
    gt: { ...ordered, description: 'Is greater than this value.' },
    gte: { ...ordered, description: 'Is greater than or equal to this value.' },
    in: { ...listed, description: 'Equals one of these values.' },
    not_in: { ...listed, description: 'Differs from all of these values, or is absent.' },
    exists: {
      type: 'boolean',
      description: '`true`: the member is present, even if null. `false`: it is absent.',
    },
    starts_with: { ...text, description: 'Is a string that starts with this one.' },
    ends_with: { ...text, description: 'Is a string that ends with this one.' },
    contains: {
      ...scalar,
      description: 'Is a list that contains this value, or a string that contains this one.',
    },
  },
  additionalProperties: false,
  minProperties: 1,
};

const itself = { $ref: '#/$defs/PayloadFilter' };

const DESCRIPTION = [
  'A filter on the `data` of events. Each member is a path such as `customer.tier`, with the value that it must equal or',
  'with operators; or `$any` or `$all` with a list of filters, or `$not` with a filter. All members must hold. At most',
  `${FILTER_BOUNDS.conditions} conditions, ${FILTER_BOUNDS.levels} levels and ${FILTER_BOUNDS.bytes} bytes.`,
].join(' ');

/** A filter on the data of events, as the client sent it. */
export const payloadFilterSchema = z
  .unknown()
  .superRefine((value, context) => {
    if (value === undefined) return context.addIssue({ code: 'custom', message: 'is required' });
    for (const { path, detail } of parsePayloadFilter(value).validationErrors ?? []) {
      context.addIssue({ code: 'custom', path: [...path], message: detail });
    }
  })
  .meta({
    id: 'PayloadFilter',
    type: 'object',
    description: DESCRIPTION,
    additionalProperties: { anyOf: [scalar, operatorsForm, itself, { type: 'array', items: itself }] },
    minProperties: 1,
    example: { 'customer.tier': 'gold', position: { lte: 10 } },
  });

/** A value as an explanation shows it. */
export type Found = Scalar | readonly Scalar[] | Readonly<Record<string, Scalar>>;

// A response explains up to fifty conditions for each of a hundred events.
const MOST_SHOWN = 5;
const MORE = '…';

/** Shorten a value out of data: texts are cut, lists and objects keep their first few entries. */
function showFound(value: unknown): Found {
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_SHOWN).map(showScalar);
    return value.length > MOST_SHOWN ? [...shown, MORE] : shown;
  }
  return typeof value === 'object' && value !== null ? showObject(value) : showScalar(value);
}

function showObject(value: object): Readonly<Record<string, Scalar>> {
  const shown: [string, Scalar][] = [];
  for (const [name, member] of Object.entries(value).slice(0, MOST_SHOWN + 1)) {
    shown.push(shown.length < MOST_SHOWN ? [shorten(name), showScalar(member)] : [MORE, MORE]);
  }
  return Object.fromEntries(shown);
}

function showScalar(value: unknown): Scalar {
  if (typeof value === 'string') return shorten(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[…]' : '{…}';
  return value as Scalar;
}

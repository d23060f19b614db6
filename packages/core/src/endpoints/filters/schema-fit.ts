import type { Condition, FilterNode } from './parse-payload-filter';

/**
 * Whether data that match a schema can meet a condition. `never`: they can't. `unlikely`: only by a member that the schema does
 * not describe, although it describes others. `described`: by one that it describes. `open`: the schema does not say.
 */
export type Verdict = 'never' | 'unlikely' | 'described' | 'open';

/** Why data never meet a condition, or hardly. */
export type Misfit =
  /** The member of the path that is missing, and those that there are in its place. */
  | { readonly kind: 'no_member'; readonly name: string; readonly known: readonly string[] }
  /** The JSON types that the member has, or that it has on the way. */
  | { readonly kind: 'type'; readonly types: readonly string[] }
  /** The condition holds for none of the values that the schema lists. */
  | { readonly kind: 'values' };

export interface Fit {
  readonly verdict: Verdict;
  /** Of `never` and `unlikely`. */
  readonly misfit?: Misfit;
}

type Schema = Readonly<Record<string, unknown>>;

const OPEN: Fit = { verdict: 'open' };
const DESCRIBED: Fit = { verdict: 'described' };

// References may lead round and round, and twice as often with each level. Usual schemas take some ten steps.
const MOST_STEPS = 2_000;
const INDEX = /^\d+$/;
// Where one of these stands, a member may be described elsewhere than in `properties`.
const ELSEWHERE = ['patternProperties', 'if', 'dependentSchemas', '$dynamicRef', 'unevaluatedProperties'];

/** Whether data of a JSON Schema (2020-12) can pass a part of a filter. When in doubt, they can. */
export function fitOf(node: FilterNode, schema: unknown): Fit {
  switch (node.kind) {
    case 'condition':
      return new SchemaWalk(schema, node).fit();
    case 'all':
      return worstOf(node.of.map((each) => fitOf(each, schema)));
    case 'any':
      return bestOf(node.of.map((each) => fitOf(each, schema)));
    case 'not':
      return OPEN;
  }
}

class SchemaWalk {
  #left = MOST_STEPS;

  constructor(
    private readonly root: unknown,
    private readonly condition: Condition,
  ) {}

  fit(): Fit {
    return holdsForNothing(this.condition) ? OPEN : this.#at(this.root, this.condition.names);
  }

  #at(schema: unknown, names: readonly string[]): Fit {
    this.#left -= 1;
    if (this.#left < 0) return OPEN;
    if (schema === false)
      return { verdict: 'never', misfit: { kind: 'no_member', name: names[0] ?? '', known: [] } };
    // References within a schema that has an address of its own are about that schema.
    if (!isSchema(schema) || (schema !== this.root && Object.hasOwn(schema, '$id'))) return OPEN;
    const parts = [this.#own(schema, names)];
    if (typeof schema['$ref'] === 'string') parts.push(this.#at(this.#targetOf(schema['$ref']), names));
    for (const each of listIn(schema, 'allOf')) parts.push(this.#at(each, names));
    for (const name of ['anyOf', 'oneOf']) {
      const branches = listIn(schema, name);
      if (branches.length > 0) parts.push(bestOf(branches.map((each) => this.#at(each, names))));
    }
    return allOf(parts);
  }

  /** By the keywords of the schema itself. */
  #own(schema: Schema, [name, ...rest]: readonly string[]): Fit {
    const types = typesIn(schema);
    if (name === undefined) return this.#ofValue(schema, types);
    const canBe = (type: string) => types === undefined || types.includes(type);
    const ways: Fit[] = [];
    if (canBe('object')) ways.push(this.#ofMember(schema, name, rest));
    if (canBe('array') && INDEX.test(name)) ways.push(OPEN);
    return ways.length > 0
      ? bestOf(ways)
      : { verdict: 'never', misfit: { kind: 'type', types: types ?? [] } };
  }

  #ofMember(schema: Schema, name: string, rest: readonly string[]): Fit {
    const properties = isSchema(schema['properties']) ? schema['properties'] : {};
    if (Object.hasOwn(properties, name)) {
      const within = this.#at(properties[name], rest);
      return within.verdict === 'open' ? DESCRIBED : within;
    }
    const { additionalProperties } = schema;
    const misfit: Misfit = { kind: 'no_member', name, known: Object.keys(properties) };
    if (Object.hasOwn(schema, 'patternProperties')) return OPEN;
    if (additionalProperties === false) return { verdict: 'never', misfit };
    if (isSchema(additionalProperties)) return this.#at(additionalProperties, rest);
    const isElsewhere = ELSEWHERE.some((keyword) => Object.hasOwn(schema, keyword));
    return isElsewhere || misfit.known.length === 0 ? OPEN : { verdict: 'unlikely', misfit };
  }

  #ofValue(schema: Schema, types: readonly string[] | undefined): Fit {
    const { holds } = this.condition;
    const listed = Object.hasOwn(schema, 'const') ? [schema['const']] : schema['enum'];
    if (Array.isArray(listed)) {
      return listed.some(holds) ? DESCRIBED : { verdict: 'never', misfit: { kind: 'values' } };
    }
    if (types === undefined) return OPEN;
    return canHoldFor(this.condition, types)
      ? DESCRIBED
      : { verdict: 'never', misfit: { kind: 'type', types } };
  }

  /** The part of the schema itself that a reference names; `undefined` for any other. */
  #targetOf(reference: string): unknown {
    if (reference === '#') return this.root;
    if (!reference.startsWith('#/')) return undefined;
    const parts = reference.slice('#/'.length).split('/');
    return parts.reduce<unknown>((found, part) => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return isSchema(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }, this.root);
  }
}

/** Whether it holds where there is no member. */
function holdsForNothing({ holds }: Condition): boolean {
  return holds(undefined);
}

function canHoldFor({ operator, expected }: Condition, types: readonly string[]): boolean {
  switch (operator) {
    case 'exists':
    case 'ne':
    case 'not_in':
      return true;
    case 'in':
      return (expected as readonly unknown[]).some((each) => isOf(each, types));
    case 'contains':
      return types.includes('array') || (typeof expected === 'string' && types.includes('string'));
    case 'eq':
      return isOf(expected, types);
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      // Half a number is less than a whole one.
      return typeof expected === 'number' ? isOf(1, types) : isOf(expected, types);
    case 'starts_with':
    case 'ends_with':
      return types.includes('string');
  }
}

function isOf(value: unknown, types: readonly string[]): boolean {
  if (value === null) return types.includes('null');
  if (typeof value !== 'number') return types.includes(typeof value);
  return types.includes('number') || (types.includes('integer') && Number.isInteger(value));
}

const WORST_FIRST: readonly Verdict[] = ['never', 'unlikely', 'described', 'open'];

function ranked(fits: readonly Fit[]): readonly Fit[] {
  return fits.toSorted((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict));
}

function worstOf(fits: readonly Fit[]): Fit {
  return ranked(fits)[0] ?? OPEN;
}

export function bestOf(fits: readonly Fit[]): Fit {
  return ranked(fits).at(-1) ?? OPEN;
}

/** Of parts of a schema that all apply: one that describes a member makes up for those that do not. */
function allOf(fits: readonly Fit[]): Fit {
  const has = (verdict: Verdict) => fits.find((fit) => fit.verdict === verdict);
  return has('never') ?? has('described') ?? has('unlikely') ?? OPEN;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listIn(schema: Schema, name: string): readonly unknown[] {
  const list = schema[name];
  return Array.isArray(list) ? list : [];
}

function typesIn({ type }: Schema): readonly string[] | undefined {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? (type as readonly string[]) : undefined;
}

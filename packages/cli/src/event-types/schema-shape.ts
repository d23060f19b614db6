/** What values a schema allows, as far as types of programming languages can say it. Never less than the schema allows. */
export type Shape =
  | { readonly kind: 'unknown' | 'null' | 'boolean' | 'integer' | 'number' | 'string' }
  | { readonly kind: 'literals'; readonly values: readonly Literal[] }
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'map'; readonly value: Shape }
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  | { readonly kind: 'union'; readonly shapes: readonly Shape[] };

export type Literal = string | number | boolean | null;

export interface Member {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
  readonly description?: string;
}

type Schema = boolean | Readonly<Record<string, unknown>>;

const UNKNOWN: Shape = { kind: 'unknown' };
const SCALARS = new Set(['null', 'boolean', 'integer', 'number', 'string']);

/** The shape of a JSON Schema (2020-12). Conditions, and what refers to itself, are left out: there the type is wider. */
export function shapeOf(schema: Schema): Shape {
  return read(schema, schema, []);
}

function read(schema: unknown, root: Schema, within: readonly string[]): Shape {
  if (!isObject(schema)) return UNKNOWN;
  const { $ref: reference, const: only, enum: values, type } = schema;
  if (typeof reference === 'string') {
    if (within.includes(reference)) return UNKNOWN;
    return read(resolve(reference, root), root, [...within, reference]);
  }
  if (isLiteral(only) && 'const' in schema) return { kind: 'literals', values: [only] };
  if (Array.isArray(values)) {
    return values.every(isLiteral) ? { kind: 'literals', values } : UNKNOWN;
  }
  if (Array.isArray(schema.allOf)) return readAll(schema, schema.allOf, root, within);
  if (Array.isArray(type)) return union(type.map((each) => readType(each, schema, root, within)));
  if (typeof type === 'string') return readType(type, schema, root, within);
  if (isObject(schema.properties)) return readObject(schema, root, within);
  const branches = schema.oneOf ?? schema.anyOf;
  return Array.isArray(branches) ? union(branches.map((each) => read(each, root, within))) : UNKNOWN;
}

function readType(type: unknown, schema: Schema, root: Schema, within: readonly string[]): Shape {
  if (!isObject(schema)) return UNKNOWN;
  if (type === 'object') return readObject(schema, root, within);
  if (type === 'array') {
    const isTuple = Array.isArray(schema.prefixItems);
    return { kind: 'list', item: isTuple ? UNKNOWN : read(schema.items, root, within) };
  }
  return SCALARS.has(String(type)) ? { kind: type as 'string' } : UNKNOWN;
}

function readObject(
  schema: Readonly<Record<string, unknown>>,
  root: Schema,
  within: readonly string[],
): Shape {
  const { properties, required, additionalProperties, patternProperties } = schema;
  if (!isObject(properties)) {
    const value = patternProperties === undefined ? read(additionalProperties, root, within) : UNKNOWN;
    return { kind: 'map', value };
  }
  const names = Array.isArray(required) ? required : [];
  const members = Object.entries(properties).map(([name, each]) => ({
    name,
    shape: read(each, root, within),
    isRequired: names.includes(name),
    ...(isObject(each) && typeof each.description === 'string' ? { description: each.description } : {}),
  }));
  return { kind: 'object', members };
}

/** The members of all, where all are objects. */
function readAll(
  schema: Readonly<Record<string, unknown>>,
  parts: readonly unknown[],
  root: Schema,
  within: readonly string[],
): Shape {
  const own = { ...schema, allOf: undefined };
  const shapes = [own, ...parts].map((each) => read(each, root, within));
  const members = new Map<string, Member>();
  for (const shape of shapes.filter(({ kind }) => kind !== 'unknown')) {
    if (shape.kind === 'map') continue;
    if (shape.kind !== 'object') return UNKNOWN;
    for (const member of shape.members) {
      const known = members.get(member.name);
      members.set(member.name, { ...member, isRequired: member.isRequired || known?.isRequired === true });
    }
  }
  return members.size === 0 ? UNKNOWN : { kind: 'object', members: [...members.values()] };
}

/** Without unions in it, and unknown if one of them is. */
function union(shapes: readonly Shape[]): Shape {
  const flat = shapes.flatMap((shape) => (shape.kind === 'union' ? shape.shapes : [shape]));
  const [first, ...others] = flat;
  if (first === undefined || flat.some(({ kind }) => kind === 'unknown')) return UNKNOWN;
  return others.length === 0 ? first : { kind: 'union', shapes: flat };
}

/** `#/$defs/address`, a JSON Pointer into the schema. */
function resolve(reference: string, root: Schema): unknown {
  if (!reference.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) ? found[name] : undefined;
  }
  return found;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLiteral(value: unknown): value is Literal {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

import { parsedOrUndefined } from '@hookferry/core/platform/json';

type Schema = Readonly<Record<string, unknown>>;

/** A JSON Schema that an example fits, and what is like it: all of its members are required. undefined: it is no JSON. */
export function schemaOf(example: string): Schema | undefined {
  const value = parsedOrUndefined(example);
  return value === undefined ? undefined : schemaFor(value);
}

function schemaFor(value: unknown): Schema {
  if (value === null) return {};
  if (Array.isArray(value)) return { type: 'array', ...(value.length > 0 && { items: schemaFor(value[0]) }) };
  if (typeof value === 'object') {
    const members = Object.entries(value);
    const properties = Object.fromEntries(members.map(([name, member]) => [name, schemaFor(member)]));
    return { type: 'object', properties, required: members.map(([name]) => name) };
  }
  if (typeof value === 'number') return { type: Number.isInteger(value) ? 'integer' : 'number' };
  return { type: typeof value };
}

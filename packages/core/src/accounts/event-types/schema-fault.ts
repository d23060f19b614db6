import { jsonPointer, nearestTo } from '@hookferry/producer/fault-words';
import type { Ajv2020, AnySchema, ErrorObject } from 'ajv/dist/2020';
import { messageOf, type ValidationError } from '../../platform/app-error';

type Subschema = Readonly<Record<string, unknown>>;

/** ajv's message, the members of a subschema that it may be about, and the message to use instead. */
interface Wording {
  readonly said: RegExp;
  readonly isAt: (subschema: Subschema, name: string) => string | undefined;
  readonly detail: (name: string, ajv: Ajv2020) => string;
}

const has = (subschema: Subschema, member: string) => Object.hasOwn(subschema, member);

const WORDINGS: readonly Wording[] = [
  {
    said: /unknown keyword: "(.+)"/,
    isAt: (subschema, name) => (has(subschema, name) ? name : undefined),
    detail: (name, ajv) => {
      const meant = nearestTo(name, Object.keys(ajv.RULES.keywords));
      return `is not a keyword of JSON Schema (2020-12)${meant === undefined ? '' : `; did you mean "${meant}"?`}`;
    },
  },
  {
    said: /"(.+)" without "if" is ignored/,
    isAt: (subschema, name) => (has(subschema, name) && !has(subschema, 'if') ? name : undefined),
    detail: () => 'does nothing without "if"',
  },
  {
    said: /can't resolve reference (.+) from id/,
    isAt: ({ $ref }, name) => ($ref === name ? '$ref' : undefined),
    detail: () => 'names nothing in this schema, and schemas elsewhere are not fetched',
  },
  {
    said: /no schema with key or ref "(.+)"/,
    isAt: ({ $schema }, name) => ($schema === name ? '$schema' : undefined),
    detail: () => 'must be https://json-schema.org/draft/2020-12/schema, or be left out',
  },
  {
    said: /unknown format "(.+)" ignored/,
    isAt: ({ format }, name) => (format === name ? 'format' : undefined),
    detail: (name, ajv) => {
      const meant = nearestTo(name, Object.keys(ajv.formats));
      return `is not a known format${meant === undefined ? '' : `; did you mean "${meant}"?`}`;
    },
  },
  {
    said: /^(enum) must have non-empty array/,
    isAt: (subschema) => (Array.isArray(subschema.enum) && subschema.enum.length === 0 ? 'enum' : undefined),
    detail: () => 'must have at least one value',
  },
];

/** An unusable regular expression, with its text. */
export class UnusableRegExp extends Error {
  constructor(
    readonly pattern: string,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

/** The first error that makes ajv refuse a schema, with a pointer below `/schema` to its position. */
export function schemaFaultOf(ajv: Ajv2020, schema: AnySchema, error: unknown): ValidationError {
  if (error instanceof UnusableRegExp) {
    return faultAt(schema, (subschema) => memberWithPattern(subschema, error.pattern), error.message);
  }
  const message = messageOf(error);
  if (message.startsWith('schema is invalid')) return faultByMeta(ajv, schema);
  for (const { said, isAt, detail } of WORDINGS) {
    const [, name] = said.exec(message) ?? [];
    if (name !== undefined) return faultAt(schema, (each) => isAt(each, name), detail(name, ajv));
  }
  return { pointer: '/schema', detail: message };
}

/** By the meta-schema, which reports one position in several ways: the first of them. */
function faultByMeta(ajv: Ajv2020, schema: AnySchema): ValidationError {
  void ajv.validateSchema(schema);
  const [first] = ajv.errors ?? [];
  if (!first) return { pointer: '/schema', detail: 'is not a JSON Schema (2020-12)' };
  return { pointer: jsonPointer(['schema', ...partsOf(first.instancePath)]), detail: wordsFor(first) };
}

function wordsFor({ message = 'is not valid in a JSON Schema', params }: ErrorObject): string {
  const { allowedValues } = params as { readonly allowedValues?: readonly string[] };
  return allowedValues ? `must be one of ${allowedValues.join(', ')}` : message;
}

const partsOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function memberWithPattern(subschema: Subschema, pattern: string): string | undefined {
  if (subschema.pattern === pattern) return 'pattern';
  const { patternProperties } = subschema;
  const isOfMembers = typeof patternProperties === 'object' && has(patternProperties as Subschema, pattern);
  return isOfMembers ? 'patternProperties' : undefined;
}

type MemberOf = (subschema: Subschema) => string | undefined;

function faultAt(schema: AnySchema, memberOf: MemberOf, detail: string): ValidationError {
  return { pointer: jsonPointer(['schema', ...(find(schema, memberOf) ?? [])]), detail };
}

// Their values are data, which may contain any name.
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'example']);
// The schema's author chooses the names of their members, and each has a schema.
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** The path to the first matching member, in the order of the text. */
function find(value: unknown, memberOf: MemberOf, isNames = false): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const subschema = value as Subschema;
  const member = isNames || Array.isArray(value) ? undefined : memberOf(subschema);
  if (member !== undefined) return [member];
  for (const [name, below] of Object.entries(subschema)) {
    if (!isNames && DATA.has(name)) continue;
    const path = find(below, memberOf, !isNames && NAMED.has(name));
    if (path) return [name, ...path];
  }
  return undefined;
}

import { _, type Ajv2020, type KeywordCxt } from 'ajv/dist/2020';

/**
 * How much work a check of one event's data may be. A unit is about what a short schema costs for one value, or a few
 * characters of a text: all of it takes one or two tenths of a second at worst, and what people write a few thousand units.
 */
const MOST_WORK = 1_000_000;
/** A part of a schema of so many characters counts as one unit for each value that it is for. */
const CHARACTERS_A_UNIT = 64;
/** A function is called for it. */
const UNITS_A_REFERENCE = 4;
/** Formats go once over a text; lengths are counted much faster. */
const LENGTH_CHARACTERS_A_UNIT = 16;

/** Counts the work of a check. */
export interface WorkMeter {
  /** Before each check. */
  begin(): void;
  /** @throws TooMuchWork when it is more than a check may be. */
  spend(units: number): void;
}

export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork';
}

export function createWorkMeter(): WorkMeter {
  let left = MOST_WORK;
  return {
    begin() {
      left = MOST_WORK;
    },
    spend(units) {
      left -= units;
      if (left < 0) throw new TooMuchWork();
    },
  };
}

// What goes over all members or items with a part of the schema.
const LOOPS = [
  'items',
  'contains',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
];
const REFERENCES = ['$ref', '$dynamicRef'];

/**
 * Lets all that can make a check long count its work as it goes: references, which can lead to the same part again and
 * again and, in the branches of an `anyOf`, twice as often with each level; loops; and what looks at each character of a
 * text. All else is done once for each place in the schema, which has a bound.
 */
export function meterWork(ajv: Ajv2020, schema: unknown, { spend }: WorkMeter): void {
  for (const name of LOOPS) {
    meter(ajv, name, (cxt) => {
      const units = unitsOf(cxt.schema);
      return (data) => spend((1 + sizeOf(data)) * units);
    });
  }
  for (const name of REFERENCES) {
    meter(ajv, name, (cxt) => {
      const units = UNITS_A_REFERENCE * unitsOf(targetOf(schema, cxt.schema));
      return () => spend(units);
    });
  }
  for (const name of ['enum', 'const']) {
    meter(ajv, name, (cxt) => {
      const units = unitsOf(cxt.schema);
      return () => spend(units);
    });
  }
  for (const name of ['minLength', 'maxLength']) {
    meter(ajv, name, () => (data) => spend(Math.ceil(lengthOf(data) / LENGTH_CHARACTERS_A_UNIT)));
  }
  meter(ajv, 'format', () => (data) => spend(1 + lengthOf(data)));
}

/** The rule stays in its place among the others: what is looked at last must be. */
function meter(ajv: Ajv2020, name: string, workOf: (cxt: KeywordCxt) => (data: unknown) => void): void {
  const rule = ajv.RULES.all[name];
  if (typeof rule !== 'object' || !('code' in rule.definition)) {
    throw new Error(`ajv has no keyword "${name}" that makes code.`);
  }
  const { definition } = rule;
  const { code } = definition;
  definition.code = (cxt, ruleType) => {
    const work = cxt.gen.scopeValue('func', { ref: workOf(cxt) });
    cxt.gen.code(_`${work}(${cxt.data})`);
    code(cxt, ruleType);
  };
}

function unitsOf(schema: unknown): number {
  return Math.ceil((JSON.stringify(schema)?.length ?? 0) / CHARACTERS_A_UNIT) || 1;
}

function sizeOf(data: unknown): number {
  if (Array.isArray(data)) return data.length;
  return typeof data === 'object' && data !== null ? Object.keys(data).length : 0;
}

function lengthOf(data: unknown): number {
  return typeof data === 'string' ? data.length : 0;
}

/** What a reference leads to; the whole schema, if that is not plain to see. */
function targetOf(schema: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
  const parts = decodeURIComponent(reference.slice('#/'.length)).split('/');
  const found = parts.reduce<unknown>(memberOf, schema);
  return found ?? schema;
}

function memberOf(value: unknown, part: string): unknown {
  const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

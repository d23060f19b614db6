import * as fc from 'fast-check';
import { parsePayloadFilter } from './parse-payload-filter';
import { compilePayloadFilter } from './payload-filter';

const names = fc.constantFrom('a', 'b', 'constructor', '0');
const paths = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const texts = fc.constantFrom('', 'a', 'ab', 'b', '\uFF5E', '\u{1F600}');
const numbers = fc.constantFrom(-1, 0, 1, 1.5, Number.MAX_SAFE_INTEGER);
const scalars = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null));
const lists = fc.array(scalars, { minLength: 1, maxLength: 4 });

const operations = fc.record(
  {
    eq: scalars,
    ne: scalars,
    lt: fc.oneof(texts, numbers),
    lte: fc.oneof(texts, numbers),
    gt: fc.oneof(texts, numbers),
    gte: fc.oneof(texts, numbers),
    in: lists,
    not_in: lists,
    exists: fc.boolean(),
    starts_with: texts,
    ends_with: texts,
    contains: scalars,
  },
  { requiredKeys: [] },
);

type Filter = Readonly<Record<string, unknown>>;
const { filter: filters } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.dictionary(paths, fc.oneof(scalars, operations), { maxKeys: 3 }),
    fc.record({ $any: fc.array(tie('filter'), { maxLength: 3 }) }),
    fc.record({ $all: fc.array(tie('filter'), { maxLength: 3 }) }),
    fc.record({ $not: tie('filter') }),
  ),
}));

const { data: datas } = fc.letrec<{ data: unknown }>((tie) => ({
  data: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie('data'), { maxLength: 3 }),
    fc.dictionary(names, tie('data'), { maxKeys: 3 }),
  ),
}));

/** The language by its words, as slowly as it is simply said. */
function holdsByTheBook(filter: Filter, data: unknown): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === '$any') return (value as Filter[]).some((each) => holdsByTheBook(each, data));
    if (key === '$all') return (value as Filter[]).every((each) => holdsByTheBook(each, data));
    if (key === '$not') return !holdsByTheBook(value as Filter, data);
    const found = key.split('.').reduce<unknown>(step, data);
    if (value === null || typeof value !== 'object') return found === value;
    return Object.entries(value).every(([name, operand]) => operate(name, found, operand));
  });
}

function step(from: unknown, name: string): unknown {
  if (from === null || typeof from !== 'object') return undefined;
  if (Array.isArray(from) && name !== '0') return undefined;
  return new Map<string, unknown>(Object.entries(from)).get(name);
}

function operate(name: string, found: unknown, operand: unknown): boolean {
  const list = operand as unknown[];
  const text = String(operand);
  switch (name) {
    case 'eq':
      return found === operand;
    case 'ne':
      return !operate('eq', found, operand);
    case 'in':
      return list.some((each) => each === found);
    case 'not_in':
      return !operate('in', found, operand);
    case 'exists':
      return operand === (found !== undefined);
    case 'starts_with':
      return typeof found === 'string' && found.slice(0, text.length) === text;
    case 'ends_with':
      return typeof found === 'string' && found.slice(found.length - text.length) === text;
    case 'contains':
      if (Array.isArray(found)) return found.some((each) => each === operand);
      return typeof found === 'string' && typeof operand === 'string' && found.indexOf(text) >= 0;
    default:
      return typeof found === typeof operand && inOrder(name, compare(found, operand));
  }
}

function inOrder(name: string, sign: number): boolean {
  if (sign === 0) return name.endsWith('e');
  return name.startsWith('l') ? sign < 0 : sign > 0;
}

function compare(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return Math.sign(one - other);
  const [a, b] = [one, other].map((text) => Array.from(String(text), (char) => char.codePointAt(0) ?? 0));
  for (const [index, point] of (a ?? []).entries()) {
    const beside = b?.[index];
    if (beside === undefined || point > beside) return 1;
    if (point < beside) return -1;
  }
  return (a?.length ?? 0) < (b?.length ?? 0) ? -1 : 0;
}

it('evaluates whatever it takes as the language says, and explains it without changing its mind', () => {
  let taken = 0;
  fc.assert(
    fc.property(filters, datas, (filter, data) => {
      if (parsePayloadFilter(filter).validationErrors) return;
      taken += 1;
      const compiled = compilePayloadFilter(filter);
      expect(compiled.matches(data)).toBe(holdsByTheBook(filter, data));
      for (const { path, operator, expected, holds } of compiled.explain(data)) {
        expect(holds).toBe(holdsByTheBook({ [path]: { [operator]: expected } }, data));
      }
      expect(compiled.explainFailure(data).length === 0).toBe(compiled.matches(data));
    }),
    { numRuns: 3_000 },
  );
  expect(taken).toBeGreaterThan(500);
});

/** What comes of a filter, or how many faults it has. */
function outcomeOf(filter: unknown, data: unknown): boolean | number {
  const { validationErrors } = parsePayloadFilter(filter);
  return validationErrors ? validationErrors.length : compilePayloadFilter(filter).matches(data);
}

it('never throws, whatever is given: it takes it, or says what is wrong', () => {
  fc.assert(
    fc.property(fc.json(), fc.json(), (filter, data) => {
      expect(outcomeOf(JSON.parse(filter), JSON.parse(data))).not.toBe(0);
    }),
    { numRuns: 1_000 },
  );
});

import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../testing/postgres-server';
import { createSeededRandom } from '../testing/seeded-random';
import { countListed, isSearchable, JsonPattern, PATTERN_BOUNDS, SearchWork } from './json-containment';

const isIn = async (data: string, wanted: string) =>
  await new JsonPattern(wanted).isIn(data, new SearchWork());

describe('what can be searched', () => {
  it.each([
    '{}',
    '{"a":"\\u00e9\\n\\\\u0000 1e99999"}',
    '{"a":1e999,"b":[1.0,-0]}',
    '{"a":"\\ud83d\\ude80 🚀"}',
  ])('is %s', (json) => {
    expect(isSearchable(json)).toBe(true);
  });

  it.each([
    ['NUL', '{"a":"\\u0000"}'],
    ['NUL in a name', '{"\\u0000":1}'],
    ['half a surrogate pair', '{"a":"\\ud83d x"}'],
    ['its other half', '{"a":"\\uDE80"}'],
    ['a number that would be long when written out', '{"a":1e100000}'],
    ['a small one', '{"a":1E-1000}'],
    ['a long number', `{"a":${'1'.repeat(1_000)}}`],
    ['a long text', `{"a":"${'x'.repeat(1024 * 1024)}"}`],
  ])('is not %s', (_what, json) => {
    expect(isSearchable(json)).toBe(false);
  });
});

it.each([
  ['{"a":{"b":1},"c":2}', '{"a":{"b":1}}', true],
  ['{"a":{"b":1}}', '{"b":1}', false],
  ['{"a":{"b":1}}', '{"a":{}}', true],
  ['{"a":[1]}', '{"a":{}}', false],
  ['{"a":["x","y"]}', '{"a":["y","y"]}', true],
  ['{"a":["x"]}', '{"a":"x"}', false],
  ['["x"]', '["x"]', true],
  ['"x"', '["x"]', false],
  ['{"a":[{"id":1,"n":2},{"id":2}]}', '{"a":[{"id":2},{"n":2}]}', true],
  ['{"a":[{"id":1},{"n":2}]}', '{"a":[{"id":1,"n":2}]}', false],
  ['{"a":1.0}', '{"a":1}', true],
  ['{"a":1e2}', '{"a":100.00}', true],
  ['{"a":-0.0}', '{"a":0}', true],
  ['{"a":-1}', '{"a":1}', false],
  ['{"a":9007199254740993}', '{"a":9007199254740992}', false],
  ['{"a":0.1000000000000000000001}', '{"a":0.1}', false],
  ['{"a":1}', '{"a":"1"}', false],
  ['{"a":null}', '{"a":null}', true],
  ['{}', '{"a":null}', false],
  ['{"a":1,"a":2}', '{"a":1}', false],
  ['{"\\u0061":"\\u00e9"}', '{"a":"é"}', true],
  ['{"a":1}', '{"constructor":{}}', false],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}', true],
  ['{"a":"\\u0000","b":1}', '{"b":1}', false],
  ['{"b":1}', '{"b":"\\ud800"}', false],
  // A text or a number: at any place.
  ['{"a":{"b":[{"c":4711}]}}', '4711', true],
  ['{"a":"4711"}', '4711', true],
  ['{"a":4711.0}', '4711', true],
  ['{"a":"4711.0"}', '4711', false],
  ['{"a":47110}', '4711', false],
  ['{"4711":1}', '4711', false],
  ['4711', '4711', true],
  ['{"a":4711}', '"4711"', false],
  ['{"a":["x",{"mail":"\\u0061da@example.com"}]}', '"ada@example.com"', true],
  ['{"a":"Ada@example.com"}', '"ada@example.com"', false],
  ['{"a":null,"b":true}', '"null"', false],
  ['{"a":1,"a":2}', '1', false],
  ['{"a":-7e1}', ' -70', true],
  ['{"a":"\\u0000","b":1}', '1', false],
  ['{"a":1}', '1e99999', false],
])('says of %s and %s: %s', async (data, wanted, expected) => {
  expect(await isIn(data, wanted)).toBe(expected);
});

// Its worst data within 256 KiB, with the largest pattern that is taken.
const KIBIBYTES = 256 * 1024;
const filled = (item: string, last: string) =>
  `{"a":[${`${item},`.repeat(KIBIBYTES / (item.length + 1))}${last}]}`;
const listOf = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`;

it.each([
  ['empty lists', filled('[]', '[1]'), `{"a":${listOf(4, '[1]')}}`],
  ['lists in lists', filled('[[0],[0],[0],[0]]', '0'), '{"a":[[[1],[1]],[1]]}'],
  [
    'objects with all members but one',
    filled('{"b":1,"c":1}', '0'),
    `{"a":${listOf(4, '{"b":1,"c":1,"d":1}')}}`,
  ],
  [
    'an object of many members',
    filled('{"a":{}}', '0'),
    `{"a":[{${Array.from({ length: 90 }, (_, i) => `"${i}":1`).join()}}]}`,
  ],
  ['numbers', filled('1.0', '0'), `{"a":${listOf(16, '1')}}`],
  ['numbers of 999 digits', filled('1'.repeat(999), '0'), '{"a":[2]}'],
  ['empty texts', filled('""', '0'), '{"a":["x"]}'],
  ['values at all places', filled('[{"b":1}]', '0'), '4711'],
])('lets others in while it looks at %s, and comes to an end', async (_what, data, wanted) => {
  const { listed, nested } = countListed(JSON.parse(wanted));
  expect(listed <= PATTERN_BOUNDS.listed && nested <= PATTERN_BOUNDS.nested).toBe(true);
  const work = new CountedWork();
  const state = { isDone: false, turns: 0 };
  const searching = new JsonPattern(wanted).isIn(data, work).finally(() => {
    state.isDone = true;
  });
  for (; !state.isDone; state.turns += 1) await setImmediate();
  await searching;
  // Each value of the data is read once, and compared with a few of the pattern.
  expect(work.steps).toBeLessThan(8 * KIBIBYTES);
  expect(work.mostAtOnce).toBeLessThan(KIBIBYTES / 8);
  expect(state.turns).toBeGreaterThanOrEqual(Math.floor(work.steps / KIBIBYTES));
});

it('lists the members of a pattern once, however many objects there are to compare', async () => {
  const members = Array.from({ length: 90 }, (_, i) => `"${i}":1`).join();
  const pattern = new JsonPattern(`{"a":[{${members}}]}`);
  const keys = jest.spyOn(Object, 'keys');
  const entries = jest.spyOn(Object, 'entries');
  await pattern.isIn(filled('{}', '0'), new SearchWork());
  expect(keys.mock.calls.length + entries.mock.calls.length).toBeLessThan(10);
  for (const spy of [keys, entries]) spy.mockRestore();
});

/** It does as its base class, and counts the steps between two pauses. */
class CountedWork extends SearchWork {
  steps = 0;
  mostAtOnce = 0;
  #atOnce = 0;

  override spend(steps: number): boolean {
    const isPause = super.spend(steps);
    this.steps += steps;
    this.#atOnce += steps;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    if (isPause) this.#atOnce = 0;
    return isPause;
  }
}

type Node =
  | { readonly kind: 'scalar'; readonly texts: readonly string[] }
  | { readonly kind: 'array'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: Node, value: Node])[] };

// The ways to write a value. Some values are close to each other.
const VALUES = [
  ['0', '-0', '0.0', '0e9', '-0E-3'],
  ['1', '1.0', '10e-1', '0.1E+1', '1e0'],
  ['-1', '-1.00'],
  ['100', '1e2', '1E+2', '100.0', '0.01e4'],
  ['0.1', '0.10', '1e-1'],
  ['9007199254740992', '9007199254740992.0', '9.007199254740992e15'],
  ['9007199254740993', '9007199254740993.000'],
  ['0.1000000000000000055511151231257827', '0.10000000000000000555111512312578270'],
  ['1e400', '10e399'],
  ['1e-400', '0.1e-399'],
  ['"1"', '"\\u0031"'],
  ['"é"', '"\\u00e9"', '"\\u00E9"'],
  ['"é"', '"e\\u0301"'],
  ['"/\\n"', '"\\/\\u000a"'],
  ['"🚀"', '"\\ud83d\\ude80"'],
  ['""'],
  ['"a"', '"\\u0061"'],
  ['true'],
  ['false'],
  ['null'],
];
const UNSEARCHABLE = [['"\\u0000"'], ['"x\\ud83d"'], ['"\\ude80"']];
const NAMES = [['"a"', '"\\u0061"'], ['"b"'], ['"__proto__"'], ['""'], ['"0"']];

const scalarOf = (values: readonly (readonly string[])[]) =>
  fc.constantFrom(...values).map((texts): Node => ({ kind: 'scalar', texts }));
const names = scalarOf(NAMES);
const { value: values } = fc.letrec<{ value: Node }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 60, arbitrary: scalarOf(VALUES) },
    { weight: 1, arbitrary: scalarOf(UNSEARCHABLE) },
    {
      weight: 40,
      arbitrary: fc.array(tie('value'), { maxLength: 4 }).map((items): Node => ({ kind: 'array', items })),
    },
    {
      weight: 60,
      // A name may come twice.
      arbitrary: fc
        .array(fc.tuple(names, tie('value')), { maxLength: 4 })
        .map((members): Node => ({ kind: 'object', members })),
    },
  ),
}));

type Choose = (below: number) => number;

/** The text of a value in one of the ways to write it. */
function write(node: Node, choose: Choose): string {
  const space = choose(4) === 0 ? ' ' : '';
  switch (node.kind) {
    case 'scalar':
      return (node.texts[choose(node.texts.length)] ?? '') + space;
    case 'array':
      return `[${space}${node.items.map((item) => write(item, choose)).join(',')}]`;
    case 'object':
      return `{${space}${node.members.map(([name, value]) => `${write(name, choose)}:${write(value, choose)}`).join(',')}}`;
  }
}

/** Some of a value, in another order: mostly the value contains it. */
function partOf(node: Node, choose: Choose): Node {
  const some = <Item>(items: readonly Item[]) =>
    items.filter(() => choose(3) > 0).toSorted(() => choose(3) - 1);
  switch (node.kind) {
    case 'scalar':
      return node;
    case 'array':
      return { kind: 'array', items: some(node.items).map((item) => partOf(item, choose)) };
    case 'object':
      return {
        kind: 'object',
        members: some(node.members).map(([name, value]) => [name, partOf(value, choose)]),
      };
  }
}

const isObject = ({ kind }: Node) => kind === 'object';
const pairs = fc
  .tuple(values.filter(isObject), values.filter(isObject), fc.nat())
  .map(([data, other, seed]): readonly [string, string] => {
    const random = createSeededRandom(seed);
    const choose: Choose = (below) => Math.floor(random() * below);
    const wanted = choose(4) === 0 ? other : partOf(data, choose);
    return [write(data, choose), write(wanted, choose)];
  });

if (!hasPostgres) console.warn(`SKIPPED: containment beside PostgreSQL's, because ${NO_POSTGRES}.`);
(hasPostgres ? describe : describe.skip)('beside PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
    // What `jsonb` refuses is found by no search.
    await server.query(`CREATE FUNCTION is_in(data text, wanted text) RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN RETURN data::jsonb @> wanted::jsonb; EXCEPTION WHEN data_exception THEN RETURN false; END $$`);
  });
  afterAll(() => server.close());

  it('finds what `@>` finds', async () => {
    const seen = { contained: 0, other: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(pairs, { minLength: 100, maxLength: 100 }), async (some) => {
        const [datas, patterns] = [some.map(([data]) => data), some.map(([, wanted]) => wanted)];
        const rows = await server.query<{ is_in: boolean }>(
          'SELECT is_in(data, wanted) FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS p (data, wanted, i) ORDER BY i',
          [datas, patterns],
        );
        const expected = some.map((pair, i) => [...pair, rows[i]?.is_in]);
        const found = some.map(async ([data, wanted]) => [data, wanted, await isIn(data, wanted)]);
        expect(await Promise.all(found)).toEqual(expected);
        for (const row of rows) seen[row.is_in ? 'contained' : 'other'] += 1;
      }),
      { numRuns: 60 },
    );
    expect(Math.min(seen.contained, seen.other)).toBeGreaterThan(600);
  });
});

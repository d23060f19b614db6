import { join } from 'node:path';
import { build } from 'esbuild';
import { faultsOf } from '../kernel/faults';
import { payloadFilterSchema } from './payload-filter-schema';

function faults(filter: unknown) {
  const { error } = payloadFilterSchema.safeParse(filter);
  return error === undefined ? [] : faultsOf(error, '/filter');
}

const nested = (levels: number): unknown => (levels === 1 ? { a: 1 } : { $not: nested(levels - 1) });
const many = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, at) => item(at));
const conditions = (count: number) => Object.fromEntries(many(count, (at) => [`a${at}`, at]));

it.each<[string, unknown]>([
  ['five levels', nested(5)],
  ['50 conditions', conditions(50)],
  ['50 conditions in lists', { $any: many(25, (at) => ({ a: { gt: at, lt: at } })) }],
  ['10 searches', { $any: many(10, (at) => ({ a: { contains: at } })) }],
  ['100 values', { a: { in: many(100, (at) => at) } }],
  ['20 names', { [many(20, () => 'a').join('.')]: 1 }],
  ['4096 bytes', { a: 'x'.repeat(4_096 - '{"a":""}'.length) }],
])('takes %s', (_what, filter) => {
  expect(faults(filter)).toEqual([]);
});

it.each<[string, unknown, string, RegExp]>([
  ['nothing', undefined, '', /is required/],
  ['a list', [], '', /must be an object/],
  ['an empty one', {}, '', /at least one condition/],
  ['an empty one within', { $any: [{ a: 1 }, {}] }, '/$any/1', /at least one condition/],
  ['no operators', { a: {} }, '/a', /at least one operator/],
  ['a list for a value', { a: [1] }, '/a', /"in"/],
  ['six levels', nested(6), '/$not/$not/$not/$not/$not', /more than 5 levels/],
  ['51 conditions', conditions(51), '', /at most 50 conditions/],
  [
    '11 searches',
    { $any: many(11, (at) => ({ a: { contains: at } })) },
    '',
    /at most 10 conditions by "contains"/,
  ],
  ['101 values', { a: { in: many(101, (at) => at) } }, '/a/in', /1 to 100 entries; this has 101/],
  ['no values', { a: { not_in: [] } }, '/a/not_in', /1 to 100/],
  ['a list among values', { a: { in: [1, [2]] } }, '/a/in/1', /must be a string, a number/],
  [
    '21 names',
    { [many(21, () => 'a').join('.')]: 1 },
    `/${many(21, () => 'a').join('.')}`,
    /at most 20 names/,
  ],
  ['4097 bytes', { a: 'ä'.repeat(2_045) }, '', /4096 bytes, as JSON; this has 4098/],
  ['a misspelt operator', { a: { let: 1 } }, '/a/let', /did you mean "lte"|did you mean "lt"/],
  ['another language’s operator', { a: { $gte: 1 } }, '/a/$gte', /did you mean "gte"/],
  ['a member within', { a: { tier: 1 } }, '/a/tier', /A member within is written "a.tier"/],
  ['a misspelt combination', { $an: [{ a: 1 }] }, '/$an', /did you mean "\$any"/],
  ['an unknown combination', { $xyzzy: 1 }, '/$xyzzy', /there are \$any, \$all, \$not/],
  ['a combination of nothing', { $any: [] }, '/$any', /at least one filter/],
  ['one filter where there are several', { $all: { a: 1 } }, '/$all', /must be a list/],
  ['several where there is one', { $not: [{ a: 1 }] }, '/$not', /must be an object/],
  [
    'a number in quotes',
    { position: { lte: '10' } },
    '/position/lte',
    /must be a number: 10, without quotes/,
  ],
  [
    'a number in quotes, in whatever form',
    { price: { gt: ' 9.50e0' } },
    '/price/gt',
    /must be a number: 9.5, /,
  ],
  ['a boolean to be less than', { position: { lte: true } }, '/position/lte', /must be a number/],
  ['a text for exists', { a: { exists: 'yes' } }, '/a/exists', /true or false/],
  ['a number to begin with', { a: { starts_with: 1 } }, '/a/starts_with', /must be a string/],
  ['an integer beyond 2^53', { a: 2 ** 53 }, '/a', /can't be told apart/],
  ['infinity', { a: { lt: Number.POSITIVE_INFINITY } }, '/a/lt', /must be a number from/],
  ['an empty name', { 'a..b': 1 }, '/a..b', /before and after each dot/],
  ['an empty path', { '': 1 }, '/', /before and after each dot/],
  ['a prototype', JSON.parse('{"__proto__":1}'), '/__proto__', /is written/],
])('refuses %s, and says where and why', (_what, filter, pointer, detail) => {
  expect(faults(filter)).toEqual([
    { pointer: `/filter${pointer}`, detail: expect.stringMatching(detail) as string },
  ]);
});

it('says a bounded number of faults, of whatever is wrong', () => {
  expect(faults(Object.fromEntries(many(10_000, (at) => [`a${at}`, { x: 1 }]))).length).toBeLessThanOrEqual(
    50,
  );
  expect(faults({ $any: many(10_000, () => ({})) }).length).toBeLessThanOrEqual(51);
  const deep = JSON.parse(`${'{"$not":'.repeat(5_000)}1${'}'.repeat(5_000)}`) as unknown;
  expect(faults(deep)).toHaveLength(1);
});

it('can be bundled for browsers, with what evaluates it', async () => {
  const { errors, metafile } = await build({
    entryPoints: ['payload-filter-schema.ts', 'payload-filter.ts'].map((file) => join(__dirname, file)),
    bundle: true,
    platform: 'browser',
    write: false,
    metafile: true,
    outdir: 'unused',
    logLevel: 'silent',
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  expect([errors, imports.filter(({ external }) => external)]).toEqual([[], []]);
});

import { join } from 'node:path';
import { build } from 'esbuild';
import { validationErrorsOf } from '../../platform/app-error';
import {
  compilePayloadFilter,
  describeFailure,
  payloadFilterSchema,
  readStoredFilter,
} from './payload-filter';

describe('payload filter', () => {
  const passes = (filter: unknown, data: unknown) => compilePayloadFilter(filter).matches(data);

  /** As an event's data come: `__proto__` is a member like any other then. */
  const parse = (json: string): unknown => JSON.parse(json);

  it.each<[filter: unknown, passing: readonly unknown[], refused: readonly unknown[]]>([
    [{ a: 1 }, [{ a: 1 }, parse('{"a":1.0}')], [{ a: '1' }, { a: true }, {}, { a: [1] }]],
    [{ a: null }, [{ a: null }], [{}, { a: 0 }, { a: '' }]],
    [{ a: { eq: 'x' } }, [{ a: 'x' }], [{ a: 'X' }, { a: ['x'] }]],
    [{ a: { ne: 1 } }, [{ a: 2 }, {}, { a: '1' }, { a: null }], [{ a: 1 }]],
    [{ a: { ne: null } }, [{ a: 1 }, {}], [{ a: null }]],
    [{ a: { lt: 2 } }, [{ a: 1.9 }, { a: -5 }], [{ a: 2 }, { a: '1' }, {}, { a: null }, { a: true }]],
    [{ a: { lte: 2 } }, [{ a: 2 }], [{ a: 2.1 }]],
    [{ a: { gt: 2 } }, [{ a: 3 }, parse('{"a":1e400}')], [{ a: 2 }, {}]],
    [{ a: { gte: 2, lt: 4 } }, [{ a: 2 }, { a: 3 }], [{ a: 1 }, { a: 4 }]],
    [{ a: { gte: '2026-01-01' } }, [{ a: '2026-01-01' }, { a: '2026-02' }], [{ a: '2025-12-31' }, { a: 3 }]],
    [{ a: { in: [1, 'x', null] } }, [{ a: 1 }, { a: 'x' }, { a: null }], [{ a: '1' }, {}]],
    [{ a: { not_in: [1, 'x'] } }, [{ a: 2 }, {}, { a: [1] }], [{ a: 1 }, { a: 'x' }]],
    [{ a: { exists: true } }, [{ a: null }, { a: 0 }, { a: {} }], [{}, null, 5, []]],
    [{ a: { exists: false } }, [{}, null, { b: 1 }], [{ a: null }]],
    [{ a: { starts_with: 'ab' } }, [{ a: 'ab' }, { a: 'abc' }], [{ a: 'xab' }, { a: ['ab'] }, {}]],
    [{ a: { ends_with: 'ab' } }, [{ a: 'xab' }], [{ a: 'abx' }, { a: 5 }]],
    [
      { a: { contains: 'b' } },
      [{ a: 'abc' }, { a: ['a', 'b'] }],
      [{ a: 'ac' }, { a: ['ab'] }, { a: { b: 1 } }, {}],
    ],
    [{ a: { contains: 1 } }, [{ a: [0, 1] }], [{ a: '1' }, { a: ['1'] }, { a: 1 }]],
    [{ 'a.b': 1 }, [{ a: { b: 1 } }], [{ 'a.b': 1 }, { a: 1 }, { a: [1] }]],
    [{ 'a\\.b': 1 }, [{ 'a.b': 1 }], [{ a: { b: 1 } }]],
    [{ 'a\\\\': 1 }, [{ 'a\\': 1 }], [{ a: 1 }]],
    [{ 'a.0.b': 1 }, [{ a: [{ b: 1 }] }, { a: { 0: { b: 1 } } }], [{ a: [{ b: 2 }, { b: 1 }] }]],
    [{ 'a.length': { exists: true } }, [{ a: { length: 0 } }], [{ a: [1] }, { a: 'x' }]],
    [{ 'a.00': 1 }, [{ a: { '00': 1 } }], [{ a: [1] }]],
    [{ '\\$any': 1 }, [{ $any: 1 }], [{}]],
    [{ a: 1, b: 2 }, [{ a: 1, b: 2 }], [{ a: 1 }, { b: 2 }]],
    [{ $any: [{ a: 1 }, { b: 2 }] }, [{ a: 1 }, { b: 2 }], [{ a: 2 }, {}]],
    [{ $all: [{ a: { gt: 1 } }, { a: { lt: 3 } }] }, [{ a: 2 }], [{ a: 3 }, {}]],
    [{ $not: { a: 1 } }, [{ a: 2 }, {}], [{ a: 1 }]],
    [{ $not: { $any: [{ a: 1 }, { b: 1 }] }, c: 1 }, [{ c: 1 }], [{ a: 1, c: 1 }, {}]],
  ])('%j lets pass what it should, and nothing else', (filter, passing, refused) => {
    expect(passing.filter((data) => !passes(filter, data))).toEqual([]);
    expect(refused.filter((data) => passes(filter, data))).toEqual([]);
  });

  it('compares strings by code points, of which JavaScript sees those beyond U+FFFF before U+E000', () => {
    const [low, high] = ['\uFF5E', '\u{1F600}'];
    expect(low < high).toBe(false);
    expect(passes({ a: { lt: high } }, { a: low })).toBe(true);
    expect(passes({ a: { gt: low } }, { a: high })).toBe(true);
    expect(passes({ a: { gt: `${high}a` } }, { a: high })).toBe(false);
  });

  it('takes no integer beyond 2^53 for one within', () => {
    const most = Number.MAX_SAFE_INTEGER;
    for (const larger of ['9007199254740992', '9007199254740993', '90071992547409930']) {
      const data = parse(`{"a":${larger}}`);
      expect([passes({ a: most }, data), passes({ a: { gt: most } }, data)]).toEqual([false, true]);
    }
  });

  it('knows members of the data alone, whatever they are called', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const path = name === '__proto__' ? '\\__proto__' : name;
      const own = parse(`{"${name}":1,"within":{"${name}":1}}`);
      expect([passes({ [path]: 1 }, own), passes({ [path]: { exists: true } }, {})]).toEqual([true, false]);
      expect(passes({ [`within.${name}`]: 1 }, own)).toBe(true);
      expect(passes({ [`${path}.name`]: { exists: true } }, {})).toBe(false);
    }
  });

  it('looks at the beginning of what is long', () => {
    const items = Array.from({ length: 1_001 }, (_, index) => index);
    expect([
      passes({ a: { contains: 999 } }, { a: items }),
      passes({ a: { contains: 1_000 } }, { a: items }),
    ]).toEqual([true, false]);
    const text = (at: number) => ({ a: `${'x'.repeat(at)}y` });
    const filter = { a: { contains: 'y' } };
    expect([passes(filter, text(4_095)), passes(filter, text(4_096))]).toEqual([true, false]);
  });

  it('reads the names of a large object once to explain it, however many conditions are about it', () => {
    let reads = 0;
    const data = {
      large: new Proxy(Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`k${at}`, at])), {
        ownKeys: (target) => {
          reads += 1;
          return Reflect.ownKeys(target);
        },
      }),
    };
    const filter = compilePayloadFilter({
      $all: Array.from({ length: 50 }, () => ({ large: { exists: true } })),
    });
    expect(filter.explain(data)).toHaveLength(50);
    expect(reads).toBe(1);
  });

  it.each<[filter: object, data: object, failures: readonly string[]]>([
    [{ a: 1 }, { a: 1 }, []],
    [{ total: { gte: 100 }, a: 1 }, { total: 5, a: 1 }, ['total ≥ 100, found 5']],
    [{ a: { gt: 1, lt: 3 }, b: true }, { a: 3 }, ['a < 3, found 3', 'b = true, found nothing']],
    [{ $any: [{ a: 1 }, { b: 'x', c: 1 }] }, { a: 2, c: 1 }, ['a = 1, found 2', 'b = "x", found nothing']],
    [{ $not: { a: { in: [1, 2] } } }, { a: 2 }, ['not (a is one of [1,2]), found 2']],
    [{ $not: { $any: [{ a: 1 }, { b: 1 }] } }, { a: 2, b: 1 }, ['not (b = 1), found 1']],
    [
      { $not: { a: 1, b: { exists: true } } },
      { a: 1, b: null },
      ['not (a = 1), found 1', 'not (b exists: true), found null'],
    ],
  ])('says which conditions of %j keep %j from passing, and no others', (filter, data, failures) => {
    expect(compilePayloadFilter(filter).explainFailure(data).map(describeFailure)).toEqual(failures);
  });

  it('lets everything pass by a stored filter of a later version, as when events are published', () => {
    expect(readStoredFilter('{"a":{"no_such_operator":1}}').explainFailure({})).toEqual([]);
  });

  it('explains every condition, with what is there in short', () => {
    const filter = compilePayloadFilter({
      a: { gt: 1, exists: true },
      $not: { 'b.c': 'x' },
      $any: [{ list: { contains: 9 } }, { object: null }, { text: '' }],
    });
    const data = {
      a: 1,
      list: [1, 2, [3], {}, 5, 6],
      object: { a: { b: 1 }, c: 2, d: 3, e: 4, f: 5, g: 6 },
      text: 'x'.repeat(200),
    };
    expect(filter.explain(data)).toEqual([
      { path: 'a', operator: 'gt', expected: 1, found: 1, holds: false },
      { path: 'a', operator: 'exists', expected: true, found: 1, holds: true },
      { path: 'b.c', operator: 'eq', expected: 'x', holds: false },
      { path: 'list', operator: 'contains', expected: 9, found: [1, 2, '[…]', '{…}', 5, '…'], holds: false },
      {
        path: 'object',
        operator: 'eq',
        expected: null,
        found: { a: '{…}', c: 2, d: 3, e: 4, f: 5, '…': '…' },
        holds: false,
      },
      { path: 'text', operator: 'eq', expected: '', found: `${'x'.repeat(100)}…`, holds: false },
    ]);
  });

  it('lets everything pass by a stored filter that a later version has written', () => {
    expect(readStoredFilter('{"a":{"like":"x"}}').matches({})).toBe(true);
    expect(readStoredFilter('{"a":{"eq":"x"}}').matches({})).toBe(false);
  });
});

describe('payload filter schema', () => {
  function validationErrors(filter: unknown) {
    const { error } = payloadFilterSchema.safeParse(filter);
    return error === undefined ? [] : validationErrorsOf(error, '/filter');
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
    expect(validationErrors(filter)).toEqual([]);
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
      /at most 10 conditions with "contains"/,
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
    ['an integer beyond 2^53', { a: 2 ** 53 }, '/a', /are not exact/],
    ['infinity', { a: { lt: Number.POSITIVE_INFINITY } }, '/a/lt', /must be a number from/],
    ['an empty name', { 'a..b': 1 }, '/a..b', /before and after each dot/],
    ['an empty path', { '': 1 }, '/', /before and after each dot/],
    ['a prototype', JSON.parse('{"__proto__":1}'), '/__proto__', /is written/],
  ])('refuses %s, and says where and why', (_what, filter, pointer, detail) => {
    expect(validationErrors(filter)).toEqual([
      { pointer: `/filter${pointer}`, detail: expect.stringMatching(detail) as string },
    ]);
  });

  it('says a bounded number of faults, of whatever is wrong', () => {
    expect(
      validationErrors(Object.fromEntries(many(10_000, (at) => [`a${at}`, { x: 1 }]))).length,
    ).toBeLessThanOrEqual(50);
    expect(validationErrors({ $any: many(10_000, () => ({})) }).length).toBeLessThanOrEqual(51);
    const deep = JSON.parse(`${'{"$not":'.repeat(5_000)}1${'}'.repeat(5_000)}`) as unknown;
    expect(validationErrors(deep)).toHaveLength(1);
  });

  it('can be bundled for browsers, with what evaluates it', async () => {
    const { errors, metafile } = await build({
      entryPoints: ['payload-filter.ts'].map((file) => join(__dirname, file)),
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
});

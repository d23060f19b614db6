import { compilePayloadFilter, readStoredFilter } from './payload-filter';

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

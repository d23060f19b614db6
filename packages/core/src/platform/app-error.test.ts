import { jsonPointer, shorten } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import { prototypeErrors, validationErrorsOf } from './app-error';
import { foundElsewhere, inWords } from './zod-words';

const pointersIn = (json: string) => prototypeErrors(JSON.parse(json)).map(({ pointer }) => pointer);

describe('prototypeErrors', () => {
  it.each<[string, string[]]>([
    ['{"a":{"b":[1,null,"__proto__"]},"constructor":{"prototype":1}}', []],
    ['{"__proto__":null}', ['/__proto__']],
    ['{"\\u005f_proto__":1}', ['/__proto__']],
    ['{"a":[{"b":1},{"__proto__":{"__proto__":1}}]}', ['/a/1/__proto__', '/a/1/__proto__/__proto__']],
  ])('finds in %s: %j', (json, pointers) => {
    expect(pointersIn(json)).toEqual(pointers);
  });
});

describe('shorten and jsonPointer', () => {
  it.each(['', 'a', 'x'.repeat(100)])('leaves a short name as it is', (name) => {
    expect(shorten(name)).toBe(name);
  });

  it('cuts a long one to a hundred characters, and never in the middle of one', () => {
    expect(shorten('x'.repeat(1_000_000))).toBe(`${'x'.repeat(100)}…`);
    expect(shorten(`${'x'.repeat(99)}😀😀`)).toBe(`${'x'.repeat(99)}…`);
  });

  it('cuts each member in a pointer', () => {
    expect(jsonPointer(['data', 'y'.repeat(5_000_000), 'z'])).toBe(`/data/${'y'.repeat(100)}…/z`);
  });
});

const schema = z.strictObject({ list: z.array(z.strictObject({ size: z.number('must be a number') })) });

function validationErrors(input: unknown, base?: string) {
  const { error } = schema.safeParse(input, inWords);
  return error && validationErrorsOf(error, base);
}

describe('validationErrorsOf', () => {
  it('points to each error as RFC 6901 says, below the base', () => {
    const expected = [{ pointer: '/list/1/size', detail: 'must be a number' }];
    expect(validationErrors({ list: [{ size: 1 }, { size: '2' }] })).toEqual(expected);
    expect(validationErrors({ list: [{ size: 1 }, { size: '2' }] }, '/data')).toEqual([
      { pointer: '/data/list/1/size', detail: 'must be a number' },
    ]);
  });

  it('names the known member that was most likely meant', () => {
    expect(validationErrors({ list: [{ size: 1, sized: 2 }], List: [] })).toEqual([
      { pointer: '/list/0/sized', detail: 'is not a known name; did you mean "size"?' },
      { pointer: '/List', detail: 'is not a known name; did you mean "list"?' },
    ]);
  });

  it('says where to find what is looked for in vain', () => {
    const moved = z.strictObject({ a: z.string() }).register(foundElsewhere, { b: 'is somewhere else' });
    const { error } = moved.transform(String).safeParse({ a: '', b: 1, constructor: 2 }, inWords);
    expect(error && validationErrorsOf(error)).toEqual([
      { pointer: '/b', detail: 'is somewhere else' },
      { pointer: '/constructor', detail: 'is not a known name' },
    ]);
  });

  it('names each unknown member, with "~" and "/" escaped', () => {
    expect(validationErrors({ list: [{ size: 1, 'a/b': 1, 'c~d': 1 }], '': 1 })).toEqual([
      { pointer: '/list/0/a~1b', detail: 'is not a known name; the known ones are size' },
      { pointer: '/list/0/c~0d', detail: 'is not a known name' },
      { pointer: '/', detail: 'is not a known name; the known ones are list' },
    ]);
  });

  it.each([
    ['unknown members', { list: [], ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [i, 1])) }],
    ['wrong items', { list: Array.from({ length: 300 }, () => ({})) }],
  ])('names a hundred of ever so many %s', (_what, input) => {
    expect(validationErrors(input)).toHaveLength(100);
  });

  it('says of a text in the place of a list that alone', () => {
    const bounded = z.object({ list: z.array(z.string()).max(2) });
    const { error } = bounded.safeParse({ list: 'long enough' }, inWords);
    expect(error && validationErrorsOf(error)).toEqual([{ pointer: '/list', detail: 'must be a list' }]);
  });

  it('says that nothing can be given where nothing is known', () => {
    const { error } = z.strictObject({}).safeParse({ a: 1 }, inWords);
    expect(error && validationErrorsOf(error)).toEqual([
      { pointer: '/a', detail: 'is not a known name; none can be given here' },
    ]);
  });

  it('points to the whole with an empty pointer', () => {
    expect(validationErrors(null)).toMatchObject([{ pointer: '' }]);
  });
});

import { nearestTo } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import { validationErrorsOf } from './app-error';
import { inWords, textSchema } from './zod-words';

describe('zod words', () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(3),
    size: z.int().min(2),
    list: z.array(z.number()).min(1).max(1),
    mode: z.enum(['fast', 'slow']),
    sure: z.literal(true),
    on: z.boolean(),
    url: z.url(),
    data: z.unknown().nonoptional(),
    record: z.record(z.string().regex(/^a/, 'must begin with an a'), z.string()),
    own: z.string('must be ours'),
    either: z.union([z.string(), z.number()]),
    page: z.coerce.number(),
    share: z.number().min(0).max(1),
    few: z.int().max(9),
    id: z.string().regex(/^wh_/),
    at: z.iso.datetime(),
    step: z.number().multipleOf(2),
  });

  const good = {
    name: 'abc',
    size: 2,
    list: [1],
    mode: 'fast',
    sure: true,
    on: false,
    url: 'https://example.com/',
    data: null,
    record: { a: 'x' },
    own: '',
    either: 1,
    page: '1',
    share: 0.5,
    few: 9,
    id: 'wh_1',
    at: '2026-11-21T12:00:00Z',
    step: 2,
  };

  function detailOf(wrong: object): string | undefined {
    const { error } = schema.safeParse({ ...good, ...wrong }, inWords);
    return error && validationErrorsOf(error)[0]?.detail;
  }

  describe('inWords', () => {
    it.each([
      ['a member that is missing', { name: undefined }, 'is required, and must be a string'],
      ['a number that is missing', { share: undefined }, 'is required, and must be a number from 0 to 1'],
      ['a word that is missing', { mode: undefined }, 'is required, and must be one of fast, slow'],
      ['a member of any type that is missing', { data: undefined }, 'is required'],
      ['a union that is missing', { either: undefined }, 'is required'],
      ['another type', { name: 1 }, 'must be a string'],
      ['null', { list: null }, 'must be a list'],
      ['a list for an object', { record: [] }, 'must be an object'],
      ['a text for a truth', { on: 'true' }, 'must be true or false'],
      ['a fraction', { size: 2.5 }, 'must be a whole number'],
      ['a text for a number in a query', { page: 'x' }, 'must be a number'],
      ['a text that is empty', { name: '' }, 'must have at least 1 character'],
      ['a long text', { name: 'abcd' }, 'must have at most 3 characters'],
      ['a small number', { size: 1 }, 'must be at least 2'],
      ['an empty list', { list: [] }, 'must have at least 1 entry'],
      ['a long list', { list: [1, 2] }, 'must have at most 1 entry'],
      ['another word', { mode: 'x' }, 'must be one of fast, slow'],
      ['another constant', { sure: false }, 'must be true'],
      ['no URL', { url: 'x' }, 'must be a URL such as https://example.com/'],
      ['none of a union', { either: true }, 'must be a string, or a number'],
      ['a text for a number with bounds', { share: '5' }, 'must be a number from 0 to 1'],
      ['a text for a number that counts', { size: '5' }, 'must be a whole number of at least 2'],
      ['a text for a number with a greatest', { few: '5' }, 'must be a whole number of at most 9'],
      ['a text of another form', { id: 'x' }, 'must match /^wh_/'],
      ['another time', { at: 'yesterday' }, 'must be a time such as 2026-11-21T12:00:00Z'],
      ['another step', { step: 3 }, 'must be a multiple of 2'],
      [
        'an unknown name',
        { colour: 1 },
        `is not a known name; the known ones are ${Object.keys(good).join(', ')}`,
      ],
    ])('says what is wrong: %s', (_, wrong, detail) => {
      expect(detailOf(wrong)).toBe(detail);
    });

    it('leaves the last word to the schema', () => {
      expect(detailOf({ own: 1 })).toBe('must be ours');
    });

    it('says what is wrong with the name of a member', () => {
      expect(detailOf({ record: { b: 'x' } })).toBe('must begin with an a');
    });

    it('finds nothing wrong with what is right', () => {
      expect(detailOf({})).toBeUndefined();
    });
  });
});

describe('nearest', () => {
  const KNOWN = ['url', 'events', 'description', 'rate_limit', 'webhook_ids'];

  it.each([
    ['urls', 'url'],
    ['URL', 'url'],
    ['event', 'events'],
    ['rateLimit', 'rate_limit'],
    ['webhook_id', 'webhook_ids'],
    ['descripton', 'description'],
  ])('takes %s for %s', (name, meant) => {
    expect(nearestTo(name, KNOWN)).toBe(meant);
  });

  it.each(['', 'secret', 'x', 'constructor', 'y'.repeat(10_000)])('takes %.20s for none of them', (name) => {
    expect(nearestTo(name, KNOWN)).toBeUndefined();
  });
});

describe('text', () => {
  const schema = textSchema(3);

  it('counts characters, and not the units that JavaScript stores them in', () => {
    expect(schema.parse('🦀🦀🦀')).toBe('🦀🦀🦀');
  });

  it.each(['abcd', '🦀🦀🦀🦀', 'a'.repeat(7)])('refuses %s, which has more', (text) => {
    expect(schema.safeParse(text).error?.issues).toMatchObject([
      { message: 'must have at most 3 characters' },
    ]);
  });

  it('says in its JSON Schema what it takes', () => {
    expect(z.toJSONSchema(schema)).toMatchObject({ type: 'string', maxLength: 3 });
  });
});

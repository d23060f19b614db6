import { caughtFrom } from '../testing/caught-from';
import { operationalTypes, publishableTypeNames, publishableTypes } from './catalogue/index';
import { type UncheckedEvent, validateEvent as validateUnchecked } from './validate-event';

const NO_LIMIT = Number.POSITIVE_INFINITY;

const examples: Readonly<Record<string, object>> = Object.fromEntries(
  publishableTypes.map(({ name, example }) => [name, example]),
);

/** As if it came in as JSON.stringify writes it. */
function validateEvent(event: Omit<UncheckedEvent, 'dataText'>, maxBytes: number): string {
  return validateUnchecked({ ...event, dataText: JSON.stringify(event.data) ?? '' }, maxBytes);
}

function faultPointers(type: string, data: unknown): string[] {
  const error = caughtFrom(() => validateEvent({ type, data }, NO_LIMIT));
  expect(error).toMatchObject({ name: 'AppError', code: 'invalid_request' });
  return (error as { faults: { pointer: string }[] }).faults.map(({ pointer }) => pointer);
}

describe('validateEvent', () => {
  it.each(publishableTypes.map(({ name, example }) => [name, example] as const))(
    'gives the body of a %s: type and data, in this order, as they came',
    (type, data) => {
      expect(validateEvent({ type, data }, NO_LIMIT)).toBe(
        `{"type":"${type}","data":${JSON.stringify(data)}}`,
      );
    },
  );

  it.each([
    ['keyword.quick_win', { keyword: '' }, ['/data/keyword']],
    ['keyword.quick_win', { keyword: 'k'.repeat(1_001) }, ['/data/keyword']],
    ['keyword.quick_win', { keyword: undefined }, ['/data/keyword']],
    ['keyword.quick_win', { keyword: null }, ['/data/keyword']],
    ['keyword.quick_win', { position: 0 }, ['/data/position']],
    ['keyword.quick_win', { position: 1.5 }, ['/data/position']],
    ['keyword.quick_win', { position: '11' }, ['/data/position']],
    ['keyword.quick_win', { volume: -1 }, ['/data/volume']],
    ['keyword.quick_win', { colour: 'red' }, ['/data/colour']],
    ['keyword.quick_win', { 'a/b~c': 1 }, ['/data/a~1b~0c']],
    ['keyword.quick_win', { position: 0, volume: -1 }, ['/data/position', '/data/volume']],
    ['brief.created', { brief_id: '' }, ['/data/brief_id']],
    ['brief.created', { brief_id: 'b'.repeat(201) }, ['/data/brief_id']],
    ['brief.created', { title: '' }, ['/data/title']],
    ['brief.created', { title: 't'.repeat(1_001) }, ['/data/title']],
    ['brief.created', { keyword: '' }, ['/data/keyword']],
    ['brief.created', { keyword: 'k'.repeat(1_001) }, ['/data/keyword']],
    ['brief.created', { url: 'not a url' }, ['/data/url']],
    ['brief.created', { url: `https://example.com/${'p'.repeat(2_048)}` }, ['/data/url']],
    ['brief.created', { colour: 'red' }, ['/data/colour']],
    ['import.completed', { import_id: '' }, ['/data/import_id']],
    ['import.completed', { import_id: 'i'.repeat(201) }, ['/data/import_id']],
    ['import.completed', { source: '' }, ['/data/source']],
    ['import.completed', { source: 's'.repeat(201) }, ['/data/source']],
    ['import.completed', { total_rows: -1 }, ['/data/total_rows']],
    ['import.completed', { failed_rows: 0.5 }, ['/data/failed_rows']],
    ['import.completed', { colour: 'red' }, ['/data/colour']],
  ])('refuses a %s with %j, and points there', (type, change, pointers) => {
    expect(faultPointers(type, { ...examples[type], ...change })).toEqual(pointers);
  });

  it.each([undefined, null, 'text', 1, []])('refuses %j in the place of data', (data) => {
    expect(faultPointers('keyword.quick_win', data)).toEqual(['/data']);
  });

  it('takes a brief without its optional members', () => {
    const data = { brief_id: 'brf_1', title: 'Shoes' };
    expect(JSON.parse(validateEvent({ type: 'brief.created', data }, NO_LIMIT))).toEqual({
      type: 'brief.created',
      data,
    });
  });

  it.each(['keyword.lost', 'keyword', 'Keyword.quick_win', '', 'constructor', '__proto__'])(
    'refuses the unknown type "%s" and lists the known ones',
    (type) => {
      expect(caughtFrom(() => validateEvent({ type, data: {} }, NO_LIMIT))).toMatchObject({
        code: 'invalid_request',
        faults: [
          {
            pointer: '/type',
            detail: `"${type}" is not a known event type; known are ${publishableTypeNames.join(', ')}`,
          },
        ],
      });
    },
  );

  it.each(operationalTypes.map(({ name, example }) => [name, example] as const))(
    'refuses a %s: only this service raises it',
    (type, data) => {
      expect(caughtFrom(() => validateEvent({ type, data }, NO_LIMIT))).toMatchObject({
        code: 'invalid_request',
        faults: [{ pointer: '/type', detail: expect.stringContaining('is raised by this service itself') }],
      });
    },
  );

  it.each([
    '{"keyword":"k","position":9007199254740993,"volume":0}',
    '{"keyword":"k","position":1.0,"volume":-0}',
    '{ "volume": 1e3,\n"keyword"\t:"\\u006b\\/","position":1E+300 }',
    '{"keyword":"first","keyword":"second","position":1,"volume":0}',
  ])('gives data as it was written, byte for byte: %s', (dataText) => {
    const event = { type: 'keyword.quick_win', data: JSON.parse(dataText) as unknown, dataText };
    expect(validateUnchecked(event, NO_LIMIT)).toBe(`{"type":"keyword.quick_win","data":${dataText}}`);
  });

  it('refuses a number beyond what any number can be', () => {
    expect(
      faultPointers('keyword.quick_win', { keyword: 'k', position: 1, volume: JSON.parse('1e400') }),
    ).toEqual(['/data/volume']);
  });

  it('refuses __proto__ and constructor in data as it does any unknown member', () => {
    const dataText = '{"__proto__":{"keyword":"k"},"constructor":{},"position":1,"volume":0}';
    expect(faultPointers('keyword.quick_win', JSON.parse(dataText))).toEqual([
      '/data/keyword',
      '/data/__proto__',
      '/data/constructor',
    ]);
  });

  it.each([101, 100_000])('refuses data of %d levels', (depth) => {
    const dataText = '['.repeat(depth) + ']'.repeat(depth);
    const event = { type: 'keyword.quick_win', data: JSON.parse(dataText) as unknown, dataText };
    expect(caughtFrom(() => validateUnchecked(event, NO_LIMIT))).toMatchObject({
      code: 'invalid_request',
      faults: [{ pointer: '/data', detail: 'is more than 100 levels deep' }],
    });
  });

  it('takes a body of exactly the limit, counted in bytes of UTF-8, and none of a byte more', () => {
    const event = { type: 'keyword.quick_win', data: { keyword: 'Zoë 🚀', position: 1, volume: 0 } };
    const bytes = Buffer.byteLength(JSON.stringify(event));
    expect(validateEvent(event, bytes)).toHaveLength(bytes - 3);
    expect(caughtFrom(() => validateEvent(event, bytes - 1))).toMatchObject({
      code: 'payload_too_large',
      message: `The event has ${bytes} bytes; at most ${bytes - 1} are taken.`,
    });
  });
});

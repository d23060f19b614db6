import { assert, jsonValue, property } from 'fast-check';
import { bodyOf, memberText, prettyJson } from './raw-body';

const DATA = '{ "n": 12345678901234567890, "e": 1.0e2, "data": "a \\"b\\" \\u00e9", "x": [ ] }';
const EVENT = `{"id":"evt_1","type":"a\\"b","created_at":"2030-01-31T12:00:00.000Z","payload_erased_at":null,"data":${DATA}}`;

describe('bodyOf', () => {
  it('has the data byte for byte: numbers, escapes and spaces', () => {
    expect(bodyOf(EVENT)).toBe(`{"type":"a\\"b","data":${DATA}}`);
  });

  it('is nothing once the payload was erased', () => {
    const erased = EVENT.replace(
      '"payload_erased_at":null',
      '"payload_erased_at":"2030-02-01T00:00:00.000Z"',
    );
    expect(bodyOf(erased)).toBeUndefined();
  });
});

describe('memberText', () => {
  it('finds a member of the outermost object alone, whatever else is in it', () => {
    assert(
      property(jsonValue(), jsonValue(), (before, data) => {
        const text = JSON.stringify({ before: { data: before }, list: ['data', before], data, after: 1 });
        expect(memberText(text, 'data')).toBe(JSON.stringify(data));
      }),
    );
  });
});

describe('prettyJson', () => {
  it('is what JSON.stringify gives with two spaces', () => {
    assert(
      property(jsonValue(), (value) => {
        // Of -0 it makes 0.
        const text = JSON.stringify(value);
        expect(prettyJson(text)).toBe(JSON.stringify(JSON.parse(text), undefined, 2));
      }),
    );
  });

  it('leaves numbers as they are written', () => {
    expect(prettyJson('[12345678901234567890,1.0]')).toBe('[\n  12345678901234567890,\n  1.0\n]');
  });
});

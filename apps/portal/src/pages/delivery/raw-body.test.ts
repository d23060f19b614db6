import { assert, jsonValue, property } from 'fast-check';
import { memberText, prettyJson } from './raw-body';

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

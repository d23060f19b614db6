import { assert, integer, jsonValue, property } from 'fast-check';
import { jsonLines, memberText, prettyJson } from './json-text';

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

describe('jsonLines', () => {
  it('have the whole text, in whichever way it is written', () => {
    assert(
      property(jsonValue(), integer({ min: 0, max: 4 }), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const lines = jsonLines(text).map(({ parts }) => parts.map((part) => part.text).join(''));
        expect(lines.join('\n')).toBe(text);
      }),
    );
  });

  it('tell what each part is, and where a member ends', () => {
    const lines = jsonLines('{\n"a": [1e3,\n true],\n"b":"c"}');
    expect(lines.map(({ parts }) => parts.map(({ kind }) => kind).join(' '))).toEqual([
      'sign',
      'name sign space sign number sign',
      'space word sign sign',
      'name sign text sign',
    ]);
    expect(lines.map(({ endsAt }) => endsAt)).toEqual([3, 2, undefined, undefined]);
  });
});

import { array, assert, constantFrom, property } from 'fast-check';
import { diffLines } from './line-diff';

const MARKS = { same: ' ', removed: '-', added: '+' } as const;
const shown = (before: string, after: string) =>
  diffLines(before, after)
    .map(({ kind, text }) => MARKS[kind] + text)
    .join('\n');

it.each([
  ['nothing', 'a\nb', 'a\nb', ' a\n b'],
  ['a changed line', 'a\nb\nc', 'a\nx\nc', ' a\n-b\n+x\n c'],
  ['an added line', 'a\nc', 'a\nb\nc', ' a\n+b\n c'],
  ['a line that has moved', 'a\nb\nc\nd', 'b\nc\na\nd', '-a\n b\n c\n+a\n d'],
])('shows %s', (_what, before, after, expected) => {
  expect(shown(before, after)).toBe(expected);
});

it('has all of both texts, in their order', () => {
  const text = array(constantFrom('a', 'b', 'c', ''), { minLength: 1 }).map((all) => all.join('\n'));
  assert(
    property(text, text, (before, after) => {
      const all = diffLines(before, after);
      const without = (kind: 'removed' | 'added') =>
        all.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n');
      expect([without('added'), without('removed')]).toEqual([before, after]);
    }),
  );
});

it('has all of two texts that are too long to compare', () => {
  const long = (letter: string) => Array.from({ length: 3_000 }, (_, line) => `${letter}${line}`).join('\n');
  expect(diffLines(long('a'), long('b'))).toHaveLength(6_000);
});

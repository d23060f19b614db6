import { cursorAfter, cursorAmong, type SearchCursor } from './redis-remains-store';

/**
 * The servers that a search comes to, whose cursor is at the end at once, each time with them in another
 * order.
 */
function searched(...orders: (readonly string[])[]): string[] {
  const visited: string[] = [];
  let cursor: SearchCursor | undefined;
  for (const masters of orders) {
    cursor = cursorAmong(masters, cursor);
    if (!cursor) break;
    visited.push(cursor.master);
    cursor = cursorAfter(cursor, '0');
  }
  return visited;
}

it('looks at each server once, in whatever order they are named', () => {
  expect(searched(['b:1', 'a:1', 'c:1'], ['c:1', 'b:1', 'a:1'], ['a:1', 'c:1', 'b:1'])).toEqual([
    'a:1',
    'b:1',
    'c:1',
  ]);
});

it('stays at a server until its cursor is at the end', () => {
  const first = cursorAmong(['b:1', 'a:1'], undefined);
  const second = first && cursorAfter(first, '17');
  expect(second).toEqual({ masters: ['a:1', 'b:1'], master: 'a:1', cursor: '17' });
  expect(cursorAmong(['b:1', 'a:1'], second)).toEqual(second);
});

it.each([
  ['one took over from another', ['a:1', 'd:1']],
  ['one came', ['a:1', 'b:1', 'c:1']],
  ['one left', ['b:1']],
])('begins again when %s', (_what, masters) => {
  const noted = { masters: ['a:1', 'b:1'], master: 'b:1', cursor: '17' };
  expect(cursorAmong(masters, noted)).toEqual({ masters, master: masters[0], cursor: '0' });
});

it('ends after the last server', () => {
  expect(cursorAfter({ masters: ['a:1', 'b:1'], master: 'b:1', cursor: '17' }, '0')).toBeUndefined();
});

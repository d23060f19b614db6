import { findJsonFault, searchJsonFault } from './json-fault';

it.each([
  ['{"a":}', 1, 6],
  ['{"a":1,}', 1, 8],
  ['[1,2', 1, 5],
  ['{"a" 1}', 1, 6],
  ["{'a':1}", 1, 2],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3],
  ['{"a":1}}', 1, 8],
  ['{"a":01}', 1, 7],
  ['"ab', 1, 1],
  ['nul', 1, 1],
  ['[1}', 1, 3],
  ['', 1, 1],
  ['1 2', 1, 3],
  ['{"a":tru}', 1, 6],
])('finds where %j stops being JSON', (text, line, column) => {
  expect(findJsonFault(text)).toEqual({ line, column });
});

it('finds a fault exactly where JSON.parse does, whatever is changed in a text', () => {
  const text = '{"a":[1,-2.5e3,"x\\u00e9\\n",true,null],"b":{"c":{},"d":[]}, "e" : 0}';
  const changes = ['', '"', ',', '{', '}', '[', ']', ':', '0', '\\', '-', 'e', ' ', '\n', '\u0001'];
  for (let at = 0; at <= text.length; at += 1) {
    for (const change of changes) {
      for (const cut of [0, 1]) {
        const changed = text.slice(0, at) + change + text.slice(at + cut);
        expect([changed, findJsonFault(changed) === undefined]).toEqual([changed, isJson(changed)]);
      }
    }
  }
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it('reads a text of millions of characters', () => {
  expect(findJsonFault(`{"a":"${'x\\n'.repeat(2_000_000)}"`)).toEqual({ line: 1, column: 6_000_008 });
  expect(findJsonFault(`[${'1,'.repeat(1_000_000)}1]`)).toBeUndefined();
  expect(findJsonFault(`${'\n'.repeat(5_000_000)} }`)).toEqual({ line: 5_000_001, column: 2 });
});

it.each([
  ['many tokens', `[${'1,'.repeat(50_000)}}`, { line: 1, column: 100_002 }],
  ['many lines', `[${'\n'.repeat(500_000)}}`, { line: 500_001, column: 1 }],
])('lets others have their turn while it looks through %s', (_what, text, place) => {
  const search = searchJsonFault(text);
  let pieces = 1;
  let step = search.next();
  for (; step.done !== true; step = search.next()) pieces += 1;
  expect(step.value).toEqual(place);
  expect(pieces).toBeGreaterThanOrEqual(5);
});

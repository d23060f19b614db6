import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Column, Output } from './output';

interface Item {
  readonly id: string;
  readonly note: string | null;
}

const COLUMNS: readonly Column<Item>[] = [
  ['id', ({ id }) => id],
  ['note', ({ note }) => note],
];
const ITEMS: readonly Item[] = [
  { id: 'a', note: 'a\u001b[2Jb\nc' },
  { id: '日本', note: null },
];

async function printed(isJson: boolean, print: (output: Output) => void): Promise<readonly [string, string]> {
  const [out, error] = [new PassThrough(), new PassThrough()];
  const streams = { out, error } as unknown as Record<'out' | 'error', NodeJS.WriteStream>;
  print(new Output({ ...streams, environment: {}, isJson: () => isJson }));
  out.end();
  error.end();
  return [await text(out), await text(error)];
}

it('draws a table in which nothing moves the cursor', async () => {
  const [out] = await printed(false, (output) => output.list(ITEMS, COLUMNS, ''));
  expect(out).toBe('ID    NOTE\na     a\\u001b[2Jb⏎c\n日本  -\n');
});

it('prints a line of JSON for each item, and nothing for none', async () => {
  const [out] = await printed(true, (output) => output.list(ITEMS, COLUMNS, ''));
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Item),
  ).toEqual(ITEMS);
  expect(await printed(true, (output) => output.list([], COLUMNS, 'None.'))).toEqual(['', '']);
});

it('says to people that there is nothing, but not on stdout', async () => {
  expect(await printed(false, (output) => output.list([], COLUMNS, 'None.'))).toEqual(['', 'None.\n']);
});

it('prints a document as it is or member by member', async () => {
  const [item] = ITEMS;
  const [json] = await printed(true, (output) => output.document(item, [['id', (each) => each?.id]]));
  expect(JSON.parse(json)).toEqual(item);
  const [pairs] = await printed(false, (output) =>
    output.document(ITEMS[1] ?? { id: '', note: '' }, COLUMNS),
  );
  expect(pairs).toBe('id    日本\nnote  -\n');
});

import { readLines } from './read-lines';

/** Given in pieces of `size` bytes. */
async function linesOf(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  let position = 0;
  const found: string[] = [];
  const lines = readLines(async () => {
    const piece = bytes.subarray(position, (position += size));
    return Promise.resolve(piece.length === 0 ? undefined : piece);
  });
  for (;;) {
    const next = await lines.next();
    if (next.done === true) return { found, isWhole: next.value };
    found.push(next.value);
  }
}

describe.each([1, 2, 3, 7, 1_000])('lines that come in pieces of %i bytes', (size) => {
  it('are given whole, with what UTF-8 needs several bytes for', async () => {
    const { found, isWhole } = await linesOf('größe 👟\n\n\u2028zwei\r\n', size);
    expect(found).toEqual(['größe 👟', '\u2028zwei\r']);
    expect(isWhole).toBe(true);
  });

  it('are not given without their line feed', async () => {
    expect(await linesOf('eins\nzw', size)).toEqual({ found: ['eins'], isWhole: false });
    expect(await linesOf('eins\n\u00e9'.slice(0, 6), size)).toEqual({ found: ['eins'], isWhole: false });
  });
});

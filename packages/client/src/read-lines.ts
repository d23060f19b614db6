/**
 * The lines of a text that arrives in pieces, without empty ones. A line is given when it is complete. Text after the last
 * line feed was cut off, and is never given.
 *
 * @param read the next piece, undefined at the end
 * @returns whether the text ended with a line feed: `false` means that something is missing
 */
export async function* readLines(
  read: () => Promise<Uint8Array | undefined>,
): AsyncGenerator<string, boolean, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for (let piece = await read(); piece !== undefined; piece = await read()) {
    const lines = decoder.decode(piece, { stream: true }).split('\n');
    lines[0] = rest + (lines[0] ?? '');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
  return rest + decoder.decode() === '';
}

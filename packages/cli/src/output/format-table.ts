import Table from 'cli-table3';

const PARTS = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
];
const NO_LINES = { ...Object.fromEntries(PARTS.map((part) => [part, ''])), middle: '  ' };

/** Columns side by side, without lines. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return `${withoutTail(table.toString())}\n`;
}

/** Names and their values below each other. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd())
    .join('\n')
    .concat('\n');
}

function withoutTail(text: string): string {
  return text.replace(/ +$/gm, '');
}

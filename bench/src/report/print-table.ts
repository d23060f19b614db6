/** Prints rows as a Markdown table, columns aligned, so that it can be read here and pasted there. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map((row) => (row[i] ?? '').length)),
  );
  const lines = rows.map((row) => toLine(widths.map((width, i) => pad(row[i] ?? '', width, i))));
  const rule = toLine(widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)));
  process.stdout.write(`\n${title}\n\n${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`);
}

function toLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

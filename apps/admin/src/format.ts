export function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

const GAP = '  ';

/** Columns under their titles, each as wide as its longest cell. */
export function formatTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, ...rows];
  const widths = titles.map((_title, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (line: readonly string[]) =>
    line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP);
  return lines.map((line) => `${format(line).trimEnd()}\n`).join('');
}

/** Texts of others must not send control sequences to the terminal. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}

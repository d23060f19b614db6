import { writeFile } from 'node:fs/promises';

/** The middle one; of an even number, the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The median of each of the figures that were measured several times. */
export function medianOfEach<Name extends string>(
  measured: readonly Readonly<Record<Name, number>>[],
): Record<Name, number> {
  const names = Object.keys(measured[0] ?? {}) as Name[];
  const medians = names.map((name) => [name, median(measured.map((figures) => figures[name]))]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/** The smallest value that the given share (0 to 1) of all values do not exceed. NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? Number.NaN;
}

/** Print rows as a Markdown table, columns aligned, so that it can be read here and pasted there. */
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

/** Write figures for programs to read, if a file for them was named. */
export async function writeJson(file: string | undefined, figures: unknown): Promise<void> {
  if (file !== undefined) await writeFile(file, `${JSON.stringify(figures, undefined, 2)}\n`);
}

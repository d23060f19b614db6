import type { Row } from './summarize';

const HEADINGS = [
  'fault',
  'runs',
  'acknowledged',
  'lost',
  'duplicates',
  'two jobs',
  'recovery p50, s',
  'max, s',
];

/** The rows as a Markdown table, columns aligned, so that it can be read here and pasted there. */
export function printRows(rows: readonly Row[]): string {
  const cells = [HEADINGS, ...rows.map(toCells)];
  const widths = HEADINGS.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, i) => pad(cell, widths[i] ?? 0, i)).join(' | ')} |`);
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

function toCells(row: Row): string[] {
  return [
    row.fault === 'all' ? row.fault : `\`${row.fault}\``,
    String(row.runs),
    String(row.acknowledged),
    String(row.lost),
    String(row.duplicates),
    String(row.two_jobs),
    toSeconds(row.recovery_ms_p50),
    toSeconds(row.recovery_ms_max),
  ];
}

function toSeconds(ms: number | null): string {
  return ms === null ? '–' : (ms / 1_000).toFixed(1);
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

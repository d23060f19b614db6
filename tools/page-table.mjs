// @ts-check

/**
 * A table in Markdown, its columns aligned.
 * @param {readonly (readonly string[])[]} rows the first is the head
 */
export function drawTable(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [head, ...others] = rows.map(
    (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`,
  );
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others].join('\n');
}

/**
 * The page with this table in the place of the one that it has.
 * @param {string} page
 * @param {string} name of the table
 * @param {string} command that writes it
 * @param {string} table
 */
export function withTable(page, name, command, table) {
  const begin = `<!-- ${name}: written by \`${command}\` -->`;
  const end = `<!-- /${name} -->`;
  const [before, rest = ''] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`The page has no markers for the table: ${begin} … ${end}`);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

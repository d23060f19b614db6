// @ts-check

/**
 * A table in Markdown, its columns aligned.
 * @param {readonly (readonly string[])[]} rows the first is the head
 * @param {'text' | 'figures'} [of] figures are aligned to the right, behind a first column of text
 */
export function drawTable(rows, of = 'text') {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0), 2),
  );
  const isRight = (/** @type {number} */ column) => of === 'figures' && column > 0;
  const [head, ...others] = rows.map((row) => {
    const cells = widths.map((width, i) =>
      isRight(i) ? (row[i] ?? '').padStart(width) : (row[i] ?? '').padEnd(width),
    );
    return `| ${cells.join(' | ')} |`;
  });
  const rule = widths.map((width, i) => (isRight(i) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [head, `| ${rule.join(' | ')} |`, ...others].join('\n');
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

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

// A terminal of 160 columns shows it in whole lines.
const WIDTH = 140;
// Spaces within these break no line.
const WORD = /(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|<!--.*?-->|\S)+/g;
// At the beginning of a line these would mean something else.
const MARK = /^(?:[-+*>#|]|\d+[.)]$)/;

/**
 * A list in Markdown, for texts that are too long for the cells of a table.
 * @param {readonly { readonly name: string, readonly facts: readonly string[], readonly text: string }[]} entries
 */
export function drawList(entries) {
  return entries
    .map(({ name, facts, text }) => drawEntry(`${name} (${facts.join(', ')}): ${text}`))
    .join('\n');
}

/** @param {string} text */
function drawEntry(text) {
  const lines = ['-'];
  for (const word of text.match(WORD) ?? []) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH || MARK.test(word)) lines[lines.length - 1] = line;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

/**
 * The page with this table or list in the place of the one that it has.
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

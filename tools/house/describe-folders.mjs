// @ts-check

const BEGIN = '<!-- folders: written by `npm run folders -- --write` -->';
const END = '<!-- /folders -->';

/**
 * The table of folders.
 * @param {readonly (readonly [name: string, what: string])[]} folders
 * @param {ReadonlyMap<string, readonly string[]>} uses
 */
export function describeFolders(folders, uses) {
  const rows = folders.map(([name, what]) => [`\`${name}\``, what, (uses.get(name) ?? []).join(', ') || '–']);
  return drawTable([['Folder', 'What', 'Imports from'], ...rows]);
}

/** @param {readonly (readonly string[])[]} rows */
function drawTable(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [head, ...others] = rows.map(
    (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`,
  );
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others].join('\n');
}

/**
 * The page with this table in the place of the one that it has.
 * @param {string} page
 * @param {string} table
 */
export function withFolders(page, table) {
  const [before, rest = ''] = page.split(BEGIN);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`The page has no place for the table: ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}

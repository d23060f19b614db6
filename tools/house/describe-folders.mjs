// @ts-check
import { drawTable, withTable } from './page-table.mjs';

/**
 * The page with the table of folders in its place.
 * @param {string} page
 * @param {readonly (readonly [name: string, what: string])[]} folders
 * @param {ReadonlyMap<string, readonly string[]>} uses
 */
export function withFolders(page, folders, uses) {
  const rows = folders.map(([name, what]) => [`\`${name}\``, what, (uses.get(name) ?? []).join(', ') || '–']);
  const table = drawTable([['Folder', 'What', 'Imports from'], ...rows]);
  return withTable(page, 'folders', 'npm run folders -- --write', table);
}

// @ts-check
import { drawTable, withTable } from '../page-table.mjs';

/** @typedef {{ readonly root: string, readonly rows: readonly RegExpExecArray[], readonly order: readonly string[], readonly capabilities: ReadonlySet<string> }} FolderTable */
/**
 * @typedef {object} Walk
 * @property {string} name
 * @property {readonly import('./walk-calls.mjs').Step[]} steps
 * @property {readonly string[]} aside files and folders (`…/`) that readers need not open
 */

/** Begins the row of a folder that only apps import. */
const CAPABILITY = 'capability: ';

/**
 * The tables of folders, each named after the `src` folder that it is of.
 * @param {string} text
 * @returns {readonly FolderTable[]}
 */
export function readTables(text) {
  return [...text.matchAll(/<!-- folders of (\S+): .*?-->\n([^]*?)<!-- \/folders/g)].map(
    ([, root = '', table = '']) => {
      const rows = [...table.matchAll(/^\| `([^`]+)` *\| (.*?) *\|/gm)];
      const marked = rows.filter(([, , what = '']) => what.startsWith(CAPABILITY));
      const capabilities = new Set(marked.map(([, name = '']) => name));
      return { root, rows, order: rows.map(([, name = '']) => name), capabilities };
    },
  );
}

/**
 * Numbered are the files to open, `(…)` behind one names where it begins. A dash names what is aside, for the reason behind it.
 * @param {string} text
 * @returns {readonly Walk[]}
 */
export function readWalks(text) {
  return [...text.matchAll(/<!-- walk: (.+?) -->([^]*?)<!-- \/walk -->/g)].map(
    ([, name = '', list = '']) => ({
      name,
      steps: [...list.matchAll(/^\d+\. \[?`([^`]+)`(?:\]\([^)]*\))?(?: \(([^)]*)\))?/gm)].map(
        ([, file = '', names = '']) => ({
          file,
          names: [...names.matchAll(/`([^`]+)`/g)].map(([, each = '']) => each),
        }),
      ),
      aside: [...list.matchAll(/^- ((?:`[^`]+`(?:, )?)+): \S/gm)].flatMap(([, paths = '']) =>
        [...paths.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
      ),
    }),
  );
}

/**
 * The shorter way to name some folders: they, or those above that are not among them.
 * @param {readonly string[]} used
 * @param {readonly string[]} above
 */
function namesOf(used, above) {
  const names = used.join(', ') || '–';
  if (used.some((folder) => !above.includes(folder))) return names;
  const others = above.filter((folder) => !used.includes(folder)).join(', ');
  const rest = others === '' ? 'all above' : `all above but ${others}`;
  return rest.length < names.length ? rest : names;
}

/**
 * The page with what each folder imports from.
 * @param {string} page
 * @param {FolderTable} table
 * @param {ReadonlyMap<string, ReadonlySet<string>>} uses
 * @param {string} command
 */
export function withUses(page, { root, rows, order }, uses, command) {
  const drawn = rows.map(([, name = '', what = '']) => {
    const used = order.filter((other) => uses.get(name)?.has(other));
    return [`\`${name}\``, what, namesOf(used, order.slice(0, order.indexOf(name)))];
  });
  return withTable(
    page,
    `folders of ${root}`,
    command,
    drawTable([['Folder', 'What', 'Imports from'], ...drawn]),
  );
}

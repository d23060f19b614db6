// @ts-check
import { posix } from 'node:path';
import { OF_TESTS } from './read-project.mjs';

/**
 * @typedef {object} Source a file of product code
 * @property {string} path from the project's root, with slashes
 * @property {string} root the `src` folder that it is in
 * @property {string} folder the folder right below `root`; `src` for a file that stands in none
 * @property {string} text
 * @property {number} lines
 * @property {readonly string[]} specifiers as they are written, of values and types alike
 * @property {readonly string[]} imports the paths of the other sources that it imports
 *
 * @typedef {ReadonlyMap<string, Source>} SourceGraph by path
 */

const IMPORT = /\b(?:from|import)\s*\(?\s*'([^']+)'/g;
const SOURCE = /(?<!\.d)\.tsx?$/;

/**
 * Product code and what it imports.
 * @param {readonly import('./read-project.mjs').ProjectFile[]} files of the project
 * @param {readonly string[]} roots `src` folders
 * @returns {SourceGraph}
 */
export function readSourceGraph(files, roots) {
  const sources = roots.flatMap((root) => {
    const found = files.filter(
      ({ path }) => path.startsWith(`${root}/`) && SOURCE.test(path) && !OF_TESTS.test(path),
    );
    if (found.length === 0) throw new Error(`${root} has no sources.`);
    return found.map((file) => ({ ...file, root }));
  });
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, root, text }) => {
      const specifiers = [...text.matchAll(IMPORT)].map(([, specifier = '']) => specifier);
      const imports = new Set(specifiers.flatMap((specifier) => resolveImport(path, specifier, known)));
      const [folder = '', ...below] = path.slice(root.length + 1).split('/');
      const lines = text.split('\n').length - 1;
      const source = { path, root, folder: below.length === 0 ? 'src' : folder, text, lines, specifiers };
      return [path, { ...source, imports: [...imports] }];
    }),
  );
}

/**
 * @param {string} path of the file that imports
 * @param {string} specifier
 * @param {ReadonlySet<string>} known
 */
function resolveImport(path, specifier, known) {
  const base = specifier.startsWith('.')
    ? posix.join(posix.dirname(path), specifier)
    : specifier.replace(/^@hookferry\/core\//, 'packages/core/src/');
  return [`${base}.ts`, `${base}.tsx`, `${base}/index.ts`]
    .filter((candidate) => known.has(candidate))
    .slice(0, 1);
}

/**
 * Find the groups of files that import each other in a circle (Tarjan's strongly connected components).
 * @param {SourceGraph} graph
 * @returns {readonly (readonly string[])[]}
 */
export function findCircles(graph) {
  /** @type {Map<string, number>} */
  const order = new Map();
  /** @type {string[]} */
  const open = [];
  /** @type {string[][]} */
  const circles = [];

  /** @param {string} path @returns {number} the earliest open file that it leads to */
  function visit(path) {
    const own = order.size;
    order.set(path, own);
    open.push(path);
    let earliest = own;
    for (const other of graph.get(path)?.imports ?? []) {
      if (!order.has(other)) earliest = Math.min(earliest, visit(other));
      else if (open.includes(other)) earliest = Math.min(earliest, order.get(other) ?? own);
    }
    if (earliest === own) {
      const members = open.splice(open.indexOf(path));
      if (members.length > 1) circles.push(members.toSorted());
    }
    return earliest;
  }

  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return circles;
}

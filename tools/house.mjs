// @ts-check
/**
 * `npm run house`: the structure of the product, measured from its code. `-- --check` (a part of `npm run lint`) says what is
 * wrong with it, and ends with 1. `-- --write` brings the tables of folders in `docs/architecture.md` up to date.
 *
 * The page has the rules: the order of the rows is the order of the folders, each of which imports from those above it only;
 * no folder imports from one whose row begins with `capability: `;
 * a numbered list between `<!-- walk: NAME -->` and `<!-- /walk -->` names files in the order in which one reads them.
 * Besides, what a file exports has a user in another one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCodeFigures } from './house/code-figures.mjs';
import { readProject, WRITTEN } from './house/read-project.mjs';
import { findCircles, readSourceGraph } from './house/source-graph.mjs';
import { findUnusedExports } from './house/unused-exports.mjs';
import { drawTable, withTable } from './page-table.mjs';
import { projectFolder } from './project-folders.mjs';

/** @typedef {import('./house/source-graph.mjs').Source} Source */

const CORE = 'packages/core/src';
/** What the figures are of. */
const PRODUCT = [CORE, 'apps/api/src', 'apps/worker/src'];
/** What the rules hold for besides. */
const OTHERS = ['apps/admin/src', 'apps/portal/src'];
/** As long as what could stand in the file that imports it. */
const SHORT_LINES = 40;
const PAGE = 'docs/architecture.md';
const COMMAND = 'npm run house -- --write';
/** Begins the row of a folder that only apps import. */
const CAPABILITY = 'capability: ';

const { values } = parseArgs({
  options: { check: { type: 'boolean' }, write: { type: 'boolean' }, project: { type: 'string' } },
});
const project = values.project ?? projectFolder;
const pagePath = join(project, PAGE);
const graph = await readSourceGraph(project, [...PRODUCT, ...OTHERS]);
const sources = [...graph.values()];
const page = await readFile(pagePath, 'utf8');
const tables = readTables(page);
const walks = readWalks(page);
const circles = findCircles(graph);
const written = tables.reduce(withUses, page);
const code = await readProject(project);
const figures = await readCodeFigures(code);

if (values.write) {
  await writeFile(pagePath, written);
} else if (values.check) {
  const faults = [
    ...(tables.some(({ root }) => root === CORE) ? [] : [`${PAGE} has no folders of ${CORE}`]),
    ...tables.flatMap(findFolderFaults),
    ...sources.flatMap(findImportFaults),
    ...circles.map((members) => `circular imports: ${members.join(', ')}`),
    ...walks.flatMap(findWalkFaults),
    ...findUnusedExports(code).map(({ path, name }) => `${path}: exports ${name}, which no other file names`),
    ...findLuaFaults(),
    ...(written === page ? [] : [`${PAGE} is outdated. Update it: ${COMMAND}`]),
  ];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.stdout.write(`${sources.length} files, ${faults.length} faults\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} else {
  printFigures();
}

function printFigures() {
  const product = sources.filter(({ root, path }) => PRODUCT.includes(root) && !WRITTEN.test(path));
  const lines = product.map((source) => source.lines).toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => lines[Math.ceil(lines.length * share) - 1];
  const single = product.flatMap((source) => {
    const [importer, another] = product.filter(({ imports }) => imports.includes(source.path));
    return importer && !another ? [{ ...source, importer }] : [];
  });
  const short = single.filter(
    ({ path, lines: own, importer }) => own <= SHORT_LINES && dirname(path) === dirname(importer.path),
  );
  print(
    'files',
    `${product.length} (${PRODUCT.map((root) => `${root} ${product.filter((source) => source.root === root).length}`).join(', ')})`,
  );
  print('lines', String(lines.reduce((sum, count) => sum + count, 0)));
  print('lines of a file', `median ${at(0.5)}, p90 ${at(0.9)}, maximum ${at(1)}`);
  print('single importers', `${single.length}, ${short.length} short and beside the file that imports them`);
  for (const { root, order } of tables) {
    const arrows = [...usesOf(root).values()].reduce((sum, used) => sum + used.size, 0);
    const possible = (order.length * (order.length - 1)) / 2;
    print('arrows', `${arrows} of ${possible} that ${order.length} folders of ${root} allow`);
  }
  print('circles', String(circles.length));
  for (const members of circles) print('', members.join(', '));
  for (const walk of walks) {
    print(`walk: ${walk.name}`, `${walk.files.length} files`);
  }
  printCodeFigures();
}

function printCodeFigures() {
  const { scripts, lua, luaOfTests } = figures;
  const lines = scripts.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
  print('Lua in files', `${scripts.length} files, ${lines} lines`);
  print('Lua in strings', sayLua(lua));
  print('  of tests', sayLua(luaOfTests));
  print('ways to run one', String(figures.waysToRun));
  print('patches', `${figures.patches} places that change prototypes`);
  print('closures', `${figures.closures} steps whose results leave by a variable`);
  print('auth basic', `${figures.filesOfAuth} files name it`);
  print('a signal', `${figures.filesOfSignal} files name it (median)`);
}

/** @param {import('./house/code-figures.mjs').LuaFigures} found */
function sayLua({ strings, lines, positions }) {
  return `${strings} strings, ${lines} lines, ${positions} positional keys and arguments`;
}

function findLuaFaults() {
  const { strings, positions } = figures.lua;
  if (strings === 0 && positions === 0) return [];
  return [`${sayLua(figures.lua)} in TypeScript: scripts stand in .lua files`];
}

/** @param {string} what @param {string} figure */
function print(what, figure) {
  process.stdout.write(`${what.padEnd(18)}${figure}\n`);
}

/** @param {string} root */
function sourcesOf(root) {
  return sources.filter((source) => source.root === root);
}

/**
 * The tables of folders, each named after the `src` folder that it is of.
 * @param {string} text
 */
function readTables(text) {
  return [...text.matchAll(/<!-- folders of (\S+): .*?-->\n([^]*?)<!-- \/folders/g)].map(
    ([, root = '', table = '']) => {
      const rows = [...table.matchAll(/^\| `([^`]+)` *\| (.*?) *\|/gm)];
      const marked = rows.filter(([, , what = '']) => what.startsWith(CAPABILITY));
      const capabilities = new Set(marked.map(([, name = '']) => name));
      return { root, rows, order: rows.map(([, name = '']) => name), capabilities };
    },
  );
}

/** @param {string} text */
function readWalks(text) {
  return [...text.matchAll(/<!-- walk: (.+?) -->([^]*?)<!-- \/walk -->/g)].map(
    ([, name = '', list = '']) => ({
      name,
      files: [...list.matchAll(/^\d+\. \[?`([^`]+)`/gm)].map(([, file = '']) => file),
    }),
  );
}

/**
 * Which other folders each folder imports from.
 * @param {string} root
 */
function usesOf(root) {
  /** @type {Map<string, Set<string>>} */
  const uses = new Map();
  for (const { folder, imports } of sourcesOf(root)) {
    const used = uses.get(folder) ?? new Set();
    for (const path of imports) {
      const other = graph.get(path);
      if (other?.root === root && other.folder !== folder) used.add(other.folder);
    }
    uses.set(folder, used);
  }
  return uses;
}

/**
 * @param {string} text
 * @param {ReturnType<typeof readTables>[number]} table
 */
function withUses(text, { root, rows, order }) {
  const uses = usesOf(root);
  const drawn = rows.map(([, name = '', what = '']) => {
    const used = order.filter((other) => uses.get(name)?.has(other));
    return [`\`${name}\``, what, used.join(', ') || '–'];
  });
  return withTable(
    text,
    `folders of ${root}`,
    COMMAND,
    drawTable([['Folder', 'What', 'Imports from'], ...drawn]),
  );
}

/** @param {ReturnType<typeof readTables>[number]} table */
function findFolderFaults({ root, order, capabilities }) {
  return sourcesOf(root).flatMap(({ path, folder, imports }) => {
    if (!order.includes(folder)) return [`${path}: "${folder}" is missing in ${PAGE}`];
    return imports.flatMap((target) => {
      const other = graph.get(target);
      if (other?.root !== root || other.folder === folder) return [];
      if (capabilities.has(other.folder)) return [`${path}: imports ${target}, a capability`];
      const goesUp = order.indexOf(other.folder) > order.indexOf(folder);
      return goesUp ? [`${path}: imports ${target}, against the order of folders`] : [];
    });
  });
}

/**
 * Imports of test code, and those that enter a package past what it offers.
 * @param {Source} source
 */
function findImportFaults({ path, root, specifiers }) {
  return specifiers.flatMap((specifier) => {
    if (specifier.includes('/testing/')) return [`${path}: product code imports ${specifier}`];
    const target = join('/', dirname(path), specifier);
    const leaves = specifier.startsWith('.') && !target.startsWith(join('/', root));
    const reaches = /^@hookferry\/[a-z-]+\/(src|dist)\//.test(specifier);
    return leaves || reaches ? [`${path}: imports ${specifier}, an inner file of another package`] : [];
  });
}

/** @param {ReturnType<typeof readWalks>[number]} walk */
function findWalkFaults({ name, files }) {
  return files.flatMap((file, index) => {
    if (!existsSync(join(project, file))) return [`walk ${name}: ${file} does not exist`];
    const leads = index === 0 || files.slice(0, index).some((path) => leadsTo(path, file));
    return leads ? [] : [`walk ${name}: none of the files above imports ${file}`];
  });
}

/** A store leads also to the Lua that the file beside it includes. @param {string} path @param {string} file */
function leadsTo(path, file) {
  if (!file.endsWith('.lua')) return graph.get(path)?.imports.includes(file);
  const beside = join(project, path.replace(/\.ts$/, '.lua'));
  if (!existsSync(beside)) return false;
  const includes = readFileSync(beside, 'utf8').matchAll(/^---@include (.+)$/gm);
  return [...includes].some(([, name = '']) => join(dirname(path), name) === file);
}

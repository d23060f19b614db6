// @ts-check
/**
 * `npm run house`: the structure of the product, measured from its code. `-- --check` (a part of `npm run lint`) says what is
 * wrong with it, and ends with 1. `-- --write`, a part of `npm run generate`, brings the
 * tables of folders in `docs/architecture.md` up to date.
 *
 * The page has the rules: the order of the rows is the order of the folders, each of which imports from those above it only;
 * no folder imports from one whose row begins with `capability: `. On the pages about publishing and delivering,
 * a numbered list between `<!-- walk: NAME -->` and `<!-- /walk -->` names the files that an event passes. Each file whose code is
 * called on the way is in the list, or named below it with the reason why readers need not open it. That costs seconds, so
 * `--check` looks at it only with `--walks`. What is exported for nobody is found by knip.
 */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readLuaFigures } from './house/lua-figures.mjs';
import { readTables, readWalks, withUses } from './house/page.mjs';
import { OF_TESTS, readProject, WRITTEN } from './house/read-project.mjs';
import { findCircles, readSourceGraph } from './house/source-graph.mjs';
import { openWalks } from './house/walk-calls.mjs';
import { projectFolder } from './project-folders.mjs';

/** @typedef {import('./house/source-graph.mjs').Source} Source */

const CORE = 'packages/core/src';
/** What the figures are of. */
const BACKEND = [CORE, 'apps/api/src', 'apps/worker/src', 'apps/admin/src'];
/** What the rules hold for besides. */
const OTHERS = ['apps/portal/src'];
const PAGE = 'docs/architecture.md';
const WALK_PAGES = ['docs/inside/publish.md', 'docs/inside/deliver.md'];
const COMMAND = 'npm run generate';
/** A script, as it is called. */
const CALL = /^export function (\w+)\(.*\): (?:Step|Guard|Change)</gm;
/** Where API, worker and commands open their stores and join their parts. */
const OPENS = /^(?:context|compose|open-.+)\.ts$/;

const { values } = parseArgs({
  options: {
    check: { type: 'boolean' },
    write: { type: 'boolean' },
    walks: { type: 'boolean' },
    project: { type: 'string' },
  },
});
const project = values.project ?? projectFolder;
const files = await readProject(project);
const graph = readSourceGraph(files, [...BACKEND, ...OTHERS]);
const sources = [...graph.values()];
const page = await readFile(join(project, PAGE), 'utf8');
const tables = readTables(page);
const written = tables.reduce((text, table) => withUses(text, table, usesOf(table.root), COMMAND), page);
const walkPages = WALK_PAGES.map((name) => join(project, name)).filter(existsSync);
const walked = (await Promise.all(walkPages.map((path) => readFile(path, 'utf8')))).join('\n');
const circles = findCircles(graph);

if (values.write) await writeFile(join(project, PAGE), written);
else if (values.check) await check();
else await printFigures();

async function check() {
  const faults = [
    ...(tables.some(({ root }) => root === CORE) ? [] : [`${PAGE} has no folders of ${CORE}`]),
    ...tables.flatMap(findFolderFaults),
    ...sources.flatMap(findImportFaults),
    ...circles.map((members) => `circular imports: ${members.join(', ')}`),
    ...(values.walks ? followWalks().flatMap(findWalkFaults) : []),
    ...findUncalledScripts(),
    ...findLuaFaults(await readLuaFigures(files)),
    ...(written === page ? [] : [`${PAGE} is outdated. Update it: ${COMMAND}`]),
  ];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.stdout.write(`${sources.length} files, ${faults.length} faults\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

async function printFigures() {
  const product = sources.filter(({ root, path }) => BACKEND.includes(root) && !WRITTEN.test(path));
  const lines = product.map((source) => source.lines).toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => lines[Math.ceil(lines.length * share) - 1];
  print(
    'files',
    `${product.length} (${BACKEND.map((root) => `${root} ${product.filter((source) => source.root === root).length}`).join(', ')})`,
  );
  print('lines', `${sum(lines)}, of code ${sum(product.map(({ text }) => countCode(text)))}`);
  print('lines of a file', `median ${at(0.5)}, p90 ${at(0.9)}, maximum ${at(1)}`);
  const opening = product.filter(
    ({ path, folder }) => OPENS.test(basename(path)) && ['src', 'core'].includes(folder),
  );
  print('open stores', `${sum(opening.map((source) => source.lines))} lines in ${opening.length} files`);
  print('*Context types', String(countAll(product, /^(?:export )?(?:interface|type) \w*Context\b/gm)));
  print('Pick<', String(countAll(product, /\bPick</g)));
  for (const { root, order } of tables) {
    const arrows = sum([...usesOf(root).values()].map((used) => used.size));
    const possible = (order.length * (order.length - 1)) / 2;
    print('arrows', `${arrows} of ${possible} that ${order.length} folders of ${root} allow`);
  }
  print('circles', String(circles.length));
  for (const members of circles) print('', members.join(', '));
  const followed = values.walks ? followWalks() : [];
  for (const [i, { name, steps, aside }] of readWalks(walked).entries()) {
    const missing = followed[i]?.missing.size;
    const proof = missing === undefined ? '' : `${missing} missing, `;
    print(`walk: ${name}`, `${steps.length} files, ${proof}${aside.length} aside`);
  }
  const together = new Set(readWalks(walked).flatMap(({ steps }) => steps.map(({ file }) => file)));
  print('walks', `${together.size} files together`);
  const { inFiles, inStrings, inTests } = await readLuaFigures(files);
  print('Lua in files', `${inFiles.files} files, ${inFiles.lines} lines`);
  print('Lua in strings', sayLua(inStrings));
  print('  of tests', sayLua(inTests));
  for (const folder of ['tools', 'bench']) {
    const own = files.filter(({ path }) => path.startsWith(`${folder}/`));
    print(folder, `${sum(own.map(({ text }) => text.split('\n').length - 1))} lines in ${own.length} files`);
  }
}

/** @param {string} what @param {string} figure */
function print(what, figure) {
  process.stdout.write(`${what.padEnd(18)}${figure}\n`);
}

/** @param {readonly number[]} numbers */
function sum(numbers) {
  return numbers.reduce((all, each) => all + each, 0);
}

/** Lines that are neither blank nor a comment alone. @param {string} text */
function countCode(text) {
  const code = text.replace(/^\s*\/\*[^]*?\*\/[ \t]*$/gm, '').split('\n');
  return code.filter((line) => !/^\s*(?:\/\/.*)?$/.test(line)).length;
}

/** @param {readonly Source[]} all @param {RegExp} pattern */
function countAll(all, pattern) {
  return sum(all.map(({ text }) => [...text.matchAll(pattern)].length));
}

/** @param {{ strings: number, lines: number, positions: number }} found */
function sayLua({ strings, lines, positions }) {
  return `${strings} strings, ${lines} lines, ${positions} positional keys and arguments`;
}

/** @param {Awaited<ReturnType<typeof readLuaFigures>>} figures */
function findLuaFaults({ inStrings }) {
  if (inStrings.strings === 0 && inStrings.positions === 0) return [];
  return [`${sayLua(inStrings)} in TypeScript: scripts stand in .lua files`];
}

/** knip knows nothing of them: what is written for one script has functions that no other needs. */
function findUncalledScripts() {
  const code = sources.filter(({ path }) => !WRITTEN.test(path)).map(({ text }) => text);
  const words = new Set(
    [...code, ...files.filter(({ path }) => OF_TESTS.test(path)).map(({ text }) => text)].flatMap(
      (text) => text.match(/\w+/g) ?? [],
    ),
  );
  return files.flatMap(({ path, text }) =>
    [...(WRITTEN.test(path) ? text.matchAll(CALL) : [])]
      .filter(([, name = '']) => !words.has(name))
      .map(([, name]) => `${path}: nobody calls ${name}`),
  );
}

/**
 * Which other folders each folder imports from.
 * @param {string} root
 */
function usesOf(root) {
  /** @type {Map<string, Set<string>>} */
  const uses = new Map();
  for (const { folder, imports } of sources.filter((source) => source.root === root)) {
    const used = uses.get(folder) ?? new Set();
    for (const path of imports) {
      const other = graph.get(path);
      if (other?.root === root && other.folder !== folder) used.add(other.folder);
    }
    uses.set(folder, used);
  }
  return uses;
}

/** @param {import('./house/page.mjs').FolderTable} table */
function findFolderFaults({ root, order, capabilities }) {
  return sources.flatMap(({ path, root: own, folder, imports }) => {
    if (own !== root) return [];
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

function followWalks() {
  const walks = readWalks(walked);
  const known = walks.map(({ steps }) => steps.filter(({ file }) => existsSync(join(project, file))));
  const follow = openWalks(
    project,
    known.flat().map(({ file }) => file),
  );
  return walks.map((walk, i) => {
    const isAside = (/** @type {string} */ path) =>
      walk.aside.some((one) => path === one || (one.endsWith('/') && path.startsWith(one)));
    return { ...walk, ...follow(known[i] ?? [], isAside) };
  });
}

/** @param {ReturnType<typeof followWalks>[number]} walk */
function findWalkFaults({ name, steps, aside, missing, unreached, lost }) {
  const gone = [...steps.map(({ file }) => file), ...aside].filter(
    (path) => !existsSync(join(project, path)),
  );
  return [
    ...gone.map((path) => `walk ${name}: ${path} does not exist`),
    ...lost.map((what) => `walk ${name}: ${what} does not exist`),
    ...unreached.map(
      (file) => `walk ${name}: nothing above calls ${file}, and it does not say (\`where\`) it begins`,
    ),
    ...[...missing].map(([file, by]) => `walk ${name}: ${file} is missing, which ${by} calls`),
  ];
}

// @ts-check
/**
 * Writes into `dist/tree`, below the current folder, all that the tarball of hookferry-server has beside its dependencies: API, worker
 * and the process of both as they are compiled, the portal, the texts that they serve, and the tools that start them. Each file is
 * where it is in the repository. Our own packages are not on npm: their names in the code become paths in the tree.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Whose compiled code it is, and whose dependencies it has. */
const COMPILED = ['packages/core', 'packages/producer', 'apps/api', 'apps/worker', 'packages/server'];
const PORTAL = 'apps/portal/dist';
const TEXTS = ['openapi.json', 'receive.md', 'verifying-signatures.md', 'images/mark.svg'];
/** Its package would bring a hundred others, which this one file has in it. */
const REDOC = 'redoc/bundles/redoc.standalone.js';
const REDOC_PLACE = 'docs/redoc.standalone.js';
const OUTPUT = 'dist/tree';
/** What only tests use, and an earlier tree. */
const LEFT_OUT = /^tree[/\\]|(?:^|[/\\])testing[/\\]/;
const START = 'tools/serve.mjs';
const BUILD = 'Run first: npm ci && npm run build';
const NAMED = /(["'])(?:@hookferry\/([a-z]+)\/([\w./-]+)|redoc\/bundles\/redoc\.standalone\.js)\1/g;

const project = findProject(process.cwd());
const tree = resolve(OUTPUT);

try {
  checkDependencies();
  rmSync(tree, { recursive: true, force: true });
  for (const folder of COMPILED) copyCompiled(folder);
  if (!existsSync(join(project, PORTAL, 'index.html'))) throw new Error(`${PORTAL} is not built. ${BUILD}`);
  copy(PORTAL);
  for (const text of TEXTS) copy(join('docs', text));
  cpSync(createRequire(join(project, 'apps/api/package.json')).resolve(REDOC), join(tree, REDOC_PLACE));
  for (const tool of reachableFrom(START)) copy(tool);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/**
 * The repository, above the package or above the copy of it that a test packs.
 * @param {string} folder
 * @returns {string}
 */
function findProject(folder) {
  if (existsSync(join(folder, START))) return folder;
  if (dirname(folder) === folder) throw new Error('This package is packed in its repository.');
  return findProject(dirname(folder));
}

/** @param {string} folder */
function dependenciesOf(folder) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.entries(dependencies).filter(([name]) => !name.startsWith('@hookferry/'));
}

/** What the code needs is installed with this package, in the version that it was tested with. */
function checkDependencies() {
  const needed = Object.fromEntries(
    COMPILED.slice(0, -1).flatMap((folder) => dependenciesOf(join(project, folder))),
  );
  const own = Object.fromEntries(dependenciesOf(process.cwd()));
  const names = new Set([...Object.keys(needed), ...Object.keys(own)]);
  const wrong = [...names]
    .filter((name) => needed[name] !== own[name])
    .map((name) => `${name} ${needed[name] ?? '(none)'}`);
  if (wrong.length > 0) throw new Error(`"dependencies" of packages/server must have: ${wrong.join(', ')}`);
}

/** @param {string} path */
function copy(path) {
  cpSync(join(project, path), join(tree, path), { recursive: true });
}

/** Without declarations, maps and what only tests use. @param {string} folder */
function copyCompiled(folder) {
  const dist = join(folder, 'dist');
  const found = existsSync(join(project, dist))
    ? readdirSync(join(project, dist), { recursive: true, encoding: 'utf8' })
    : [];
  const files = found
    .filter((file) => /\.js(?:on)?$/.test(file) && !LEFT_OUT.test(file))
    .map((file) => join(dist, file));
  // A `dist` may have an earlier tree alone.
  if (files.length === 0) throw new Error(`${folder} is not compiled. ${BUILD}`);
  for (const file of files) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    writeFileSync(join(tree, file), withPaths(file, readFileSync(join(project, file), 'utf8')));
  }
}

/**
 * @param {string} file
 * @param {string} code
 */
function withPaths(file, code) {
  return code.replace(NAMED, (_, quote, name, module) => {
    const target = name === undefined ? REDOC_PLACE : placeOf(name, module);
    const path = relative(dirname(file), target).replaceAll('\\', '/');
    return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}

/**
 * @param {string} name
 * @param {string} module
 */
function placeOf(name, module) {
  const folder = COMPILED.find((each) => each.endsWith(`/${name}`));
  const place = `${folder}/dist/${module}.js`;
  if (folder === undefined || !existsSync(join(project, place)))
    throw new Error(`@hookferry/${name}/${module} is not part of the tree.`);
  return place;
}

/**
 * A tool with all that it imports or starts.
 * @param {string} tool
 * @param {Set<string>} known
 */
function reachableFrom(tool, known = new Set()) {
  known.add(tool);
  const code = readFileSync(join(project, tool), 'utf8');
  for (const [, path = ''] of code.matchAll(/(?:from |import\(|new URL\()'(\.[^']*\.mjs)'/g)) {
    const other = join(dirname(tool), path);
    if (!known.has(other)) reachableFrom(other, known);
  }
  return known;
}

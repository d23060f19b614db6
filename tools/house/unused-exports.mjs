// @ts-check
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @typedef {{ readonly path: string, readonly text: string }} ProjectFile its path from the project's root, with slashes */

const CODE = /\.[cm]?[jt]sx?$/;
const MANIFEST = /^(packages\/[^/]+)\/package\.json$/;
/** Written by tools, or by others. */
const FOREIGN = /^(\..*|node_modules|dist|coverage)$/;
/** By `npm run scripts`: of what they export, the calls of scripts need a user. */
const WRITTEN = /\.script\.ts$/;
const CALL = /^export function (\w+)\(.*\): (?:Step|Guard|Change)</gm;
/** The code of a package or an app, with its helpers for tests, but without its tests. */
const SOURCE = /^((?:packages|apps)\/[^/]+)\/src\/(?!.*\.(?:test|d)\.).*\.tsx?$/;
/** Not types: whoever gets a value of one may need its name some day. */
const EXPORT =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class) ([A-Za-z_$][\w$]*)/gm;
const WORD = /[A-Za-z_$][\w$]*/g;

/**
 * Find what a source exports although no other file names it, be it code of the product, a test or a tool. What a package
 * offers to the outside needs no user here.
 * @param {string} project
 * @returns {Promise<readonly { readonly path: string, readonly name: string }[]>}
 */
export async function findUnusedExports(project) {
  const files = await readFiles(project);
  const offered = new Set(files.flatMap(readOffered));
  const code = files.filter(({ path }) => CODE.test(path));
  /** In how many files each word stands. @type {Map<string, number>} */
  const uses = new Map();
  for (const { text } of code) {
    for (const word of new Set(text.match(WORD))) uses.set(word, (uses.get(word) ?? 0) + 1);
  }
  return code
    .filter(({ path }) => SOURCE.test(path) && !offered.has(path))
    .flatMap(({ path, text }) => {
      const names = [...text.matchAll(WRITTEN.test(path) ? CALL : EXPORT)].map(([, name = '']) => name);
      return names.filter((name) => uses.get(name) === 1).map((name) => ({ path, name }));
    });
}

/**
 * @param {string} project
 * @returns {Promise<readonly ProjectFile[]>}
 */
async function readFiles(project, folder = '') {
  const entries = await readdir(join(project, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return FOREIGN.test(entry.name) ? [] : await readFiles(project, path);
      if (!entry.isFile() || !(CODE.test(path) || MANIFEST.test(path))) return [];
      return [{ path, text: await readFile(join(project, path), 'utf8') }];
    }),
  );
  return found.flat();
}

/**
 * The sources that a package offers to those who install it. A private one offers nothing: its users are all here.
 * @param {ProjectFile} file
 */
function readOffered({ path, text }) {
  const [, folder] = MANIFEST.exec(path) ?? [];
  if (folder === undefined) return [];
  const { private: isPrivate = false, exports: offered = {} } = JSON.parse(text);
  if (isPrivate) return [];
  return [...JSON.stringify(offered).matchAll(/"\.\/dist\/([^"]+)\.js"/g)].map(
    ([, name]) => `${folder}/src/${name}.ts`,
  );
}

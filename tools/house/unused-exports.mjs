// @ts-check
import { CODE, MANIFEST, WRITTEN } from './read-project.mjs';

/** @typedef {import('./read-project.mjs').ProjectFile} ProjectFile */

/** What a written module exports that needs a user: the calls of scripts. */
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
 * @param {readonly ProjectFile[]} files
 * @returns {readonly { readonly path: string, readonly name: string }[]}
 */
export function findUnusedExports(files) {
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

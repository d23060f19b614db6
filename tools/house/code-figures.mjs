// @ts-check
import { parse } from '@swc/core';
import { WRITTEN } from './read-project.mjs';

/** @typedef {import('./read-project.mjs').ProjectFile} ProjectFile */
/** @typedef {any} Node of the syntax tree, of any kind */
/** @typedef {{ readonly strings: number, readonly lines: number, readonly positions: number }} LuaFigures */

const SOURCE = /^(?:packages|apps)\/[^/]+\/src\/.*(?<!\.d)\.tsx?$/;
const OF_SERVICES = /^(?:packages\/core|apps\/(?:api|worker|admin))\/src\//;
const OF_TESTS = /\.test\.tsx?$|\/testing\//;
/** Neither English nor JavaScript, nor what only puts scripts together: `function(KEYS, ARGV) … end`. */
const LUA =
  /\bredis\.(?:call|pcall|error_reply)\(|\blocal (?:function \w+|\w+(?:, \w+)* =)|\b(?:KEYS|ARGV)\[|\bif\b[^]*\bthen\b[^]*\bend\b/;
/** What is counted in a list instead of having a name. */
const POSITION = /#?\b(?:KEYS|ARGV)\[|#(?:KEYS|ARGV)\b|\bunpack\((?:KEYS|ARGV)\b/g;

/**
 * How much of the code readers, compilers and editors can't see through, or have to look for in many files.
 * @param {readonly ProjectFile[]} files
 */
export async function readCodeFigures(files) {
  const all = files.filter(({ path }) => SOURCE.test(path) && !WRITTEN.test(path));
  const product = all.filter(({ path }) => !OF_TESTS.test(path));
  const services = all.filter(({ path }) => OF_SERVICES.test(path));
  return {
    scripts: files.filter(({ path }) => path.endsWith('.lua')),
    lua: await findLua(services.filter(({ path }) => !OF_TESTS.test(path))),
    luaOfTests: await findLua(services.filter(({ path }) => OF_TESTS.test(path))),
    waysToRun: countAll(product, /(?<!function )\brunText\(/g),
    patches: countAll(
      product,
      /\.prototype(?:\.(?!constructor\b)\w+|\[\w+\]) = |\bdefineProperty\(prototype\b/g,
    ),
    closures: await countClosures(services.filter(({ path }) => !OF_TESTS.test(path))),
    filesOfAuth: product.filter(({ text }) => /\bbasic\b/.test(text) && /auth/i.test(text)).length,
    filesOfSignal: filesOfSignal(product),
  };
}

/** @param {readonly ProjectFile[]} files @returns {Promise<LuaFigures>} */
async function findLua(files) {
  const found = { strings: 0, lines: 0, positions: 0 };
  for (const { text } of files.filter((file) => LUA.test(file.text))) {
    walk(await parseSource(text), (node) => {
      const lua = textOf(node);
      if (lua === undefined || !LUA.test(lua)) return;
      found.strings += 1;
      found.lines += lua.split('\n').filter((line) => line.trim() !== '').length;
      found.positions += [...lua.matchAll(POSITION)].length;
    });
  }
  return found;
}

/** Steps of `atomic`, functions of a target, whose results leave by a variable outside of them. @param {readonly ProjectFile[]} files */
async function countClosures(files) {
  let found = 0;
  for (const { text } of files.filter((file) => /\(target\b/.test(file.text))) {
    walk(await parseSource(text), (node) => {
      if (node.type !== 'ArrowFunctionExpression' || node.params[0]?.value !== 'target') return;
      if (assignsOutside(node)) found += 1;
    });
  }
  return found;
}

/** @param {Node} step */
function assignsOutside(step) {
  /** @type {Set<string>} */
  const own = new Set();
  walk(step, ({ type, id }) => type === 'VariableDeclarator' && walk(id, ({ value }) => own.add(value)));
  let found = false;
  walk(step, ({ type, left }) => {
    if (type !== 'AssignmentExpression') return;
    const isOwn = left.type === 'Identifier' ? own.has(left.value) : left.object?.type !== 'ThisExpression';
    if (!isOwn) found = true;
  });
  return found;
}

/** Of all signals, the median. @param {readonly ProjectFile[]} files */
function filesOfSignal(files) {
  const names = files.flatMap(({ text }) => [...text.matchAll(/\bemit\(\{\s*name: ('[\w.]+')/g)]);
  const counts = [...new Set(names.map(([, name = '']) => name))].map(
    (name) => files.filter(({ text }) => text.includes(name)).length,
  );
  return counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0;
}

/** @param {readonly ProjectFile[]} files @param {RegExp} pattern */
function countAll(files, pattern) {
  return files.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);
}

/** @param {string} text */
async function parseSource(text) {
  return await parse(text, { syntax: 'typescript' });
}

/** @param {Node} node @returns {string | undefined} */
function textOf({ type, value, quasis }) {
  if (type === 'StringLiteral') return value;
  if (type !== 'TemplateLiteral') return undefined;
  return quasis.map((/** @type {Node} */ { raw }) => raw).join('0');
}

/** @param {Node} node @param {(node: Node) => void} see */
function walk(node, see) {
  if (node === null || typeof node !== 'object') return;
  if (typeof node.type === 'string') see(node);
  for (const value of Object.values(node)) walk(value, see);
}

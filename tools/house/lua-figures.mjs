// @ts-check
import { parse } from '@swc/core';
import { OF_TESTS, WRITTEN } from './read-project.mjs';

/** @typedef {import('./read-project.mjs').ProjectFile} ProjectFile */
/** @typedef {any} Node of the syntax tree, of any kind */

const SOURCE = /^(?:packages\/core|apps\/(?:api|worker|admin))\/src\/.*(?<!\.d)\.tsx?$/;
/** Neither English nor JavaScript, nor what only puts scripts together: `function(KEYS, ARGV) … end`. */
const LUA =
  /\bredis\.(?:call|pcall|error_reply)\(|\blocal (?:function \w+|\w+(?:, \w+)* =)|\b(?:KEYS|ARGV)\[|\bif\b[^]*\bthen\b[^]*\bend\b/;
/** What is counted in a list instead of having a name. */
const POSITION = /#?\b(?:KEYS|ARGV)\[|#(?:KEYS|ARGV)\b|\bunpack\((?:KEYS|ARGV)\b/g;

/**
 * Scripts of Redis, and those that stand in strings, where no editor and no linter sees them.
 * @param {readonly ProjectFile[]} files
 */
export async function readLuaFigures(files) {
  const sources = files.filter(({ path }) => SOURCE.test(path) && !WRITTEN.test(path));
  const scripts = files.filter(({ path }) => path.endsWith('.lua'));
  return {
    inFiles: {
      files: scripts.length,
      lines: scripts.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
    },
    inStrings: await findLua(sources.filter(({ path }) => !OF_TESTS.test(path))),
    inTests: await findLua(sources.filter(({ path }) => OF_TESTS.test(path))),
  };
}

/** @param {readonly ProjectFile[]} files */
async function findLua(files) {
  const found = { strings: 0, lines: 0, positions: 0 };
  for (const { text } of files.filter((file) => LUA.test(file.text))) {
    walk(await parse(text, { syntax: 'typescript' }), (node) => {
      const lua = textOf(node);
      if (lua === undefined || !LUA.test(lua)) return;
      found.strings += 1;
      found.lines += lua.split('\n').filter((line) => line.trim() !== '').length;
      found.positions += [...lua.matchAll(POSITION)].length;
    });
  }
  return found;
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

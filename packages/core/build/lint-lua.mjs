// @ts-check
/**
 * A part of `npm run lint`: what is wrong with the scripts of Redis besides what `npm run scripts` refuses, which are unknown
 * names and wrong replies. These are names that nobody uses or that hide another one, and files in another format.
 * `--write`, a part of `npm run format`, formats them.
 *
 * Packages that others install are built by `tsc` alone: a script of theirs is a string behind a comment that says `lua`. It is
 * looked at, too.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { findNameFaults } from './find-name-faults.mjs';
import { formatLua } from './format-lua.mjs';
import { ScriptFault } from './read-tags.mjs';
import { camelCase } from './write-module.mjs';
import { helpersFor, readLuaFiles } from './write-modules.mjs';

/** @typedef {import('./expand-lua.mjs').LuaFile} LuaFile */

const { values } = parseArgs({ options: { write: { type: 'boolean' }, folder: { type: 'string' } } });
const folder = values.folder ?? join(import.meta.dirname, '../src');
const packages = values.folder ?? join(import.meta.dirname, '../..');
const IN_STRING = /\/\* lua \*\/ `([^`]*)`/g;

try {
  const files = readLuaFiles(folder);
  if (values.write) for (const file of files.values()) format(file);
  else say([...findFaults(files), ...findFaultsOfStrings()], files.size);
} catch (error) {
  if (!(error instanceof ScriptFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** @param {LuaFile} file */
function format({ path, text }) {
  const formatted = formatLua(path, text);
  if (formatted !== text) writeFileSync(join(folder, path), formatted);
}

/** @param {readonly string[]} faults @param {number} count of files */
function say(faults, count) {
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.stdout.write(`${count} files of Lua, ${faults.length} faults\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/** @returns {readonly string[]} as those of files */
function findFaultsOfStrings() {
  const folders = readdirSync(packages).map((name) => join(packages, name, 'src'));
  return folders.filter(existsSync).flatMap((sources) => {
    const names = readdirSync(sources, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.endsWith('.ts')).flatMap((name) => faultsIn(join(sources, name)));
  });
}

/** @param {string} path of TypeScript @returns {readonly string[]} */
function faultsIn(path) {
  const source = readFileSync(path, 'utf8');
  return [...source.matchAll(IN_STRING)].flatMap(({ 1: lua = '', index }) => {
    const place = `${relative('', path)}:${source.slice(0, index).split('\n').length}`;
    try {
      const formatted = formatLua(place, lua).trimEnd();
      return formatted === lua ? [] : [`${place}: has another format than ${formatted}`];
    } catch (error) {
      if (!(error instanceof ScriptFault)) throw error;
      return [error.message];
    }
  });
}

/** @param {ReadonlyMap<string, LuaFile>} files @returns {readonly string[]} `path:line: what is wrong` */
function findFaults(files) {
  const looked = [...files.values()].map((file) => ({
    file,
    ...findNameFaults(file, helpersFor(file, files)),
  }));
  const used = new Set([...looked.flatMap(({ usedNames }) => [...usedNames]), ...helpersInTypeScript()]);
  return looked.flatMap(({ file: { path, text, helpers }, faults }) => {
    const unused = helpers
      .filter(({ name }) => !used.has(name) && !used.has(camelCase(name)))
      .map(({ name, line }) => ({ line, what: `${name} is not used` }));
    const inOrder = [...faults, ...unused].toSorted((a, b) => a.line - b.line);
    const isFormatted = formatLua(path, text) === text;
    const shown = join(relative('', folder), path);
    return [
      ...inOrder.map(({ line, what }) => `${shown}:${line}: ${what}`),
      ...(isFormatted ? [] : [`${shown}: has another format. Change it: npm run format`]),
    ];
  });
}

/** What modules that no tool has written import of scripts: helpers too, to give them to other ones. */
function helpersInTypeScript() {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.script.ts'));
  return sources.flatMap((name) => {
    const imports = readFileSync(join(folder, name), 'utf8').matchAll(
      /import \{([^}]+)\} from '[^']+\.script'/g,
    );
    return [...imports].flatMap(([, list = '']) => list.split(',').map((each) => each.trim()));
  });
}

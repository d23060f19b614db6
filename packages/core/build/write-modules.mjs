// @ts-check
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GLOBALS, parseFile } from './expand-lua.mjs';
import { ScriptFault } from './read-tags.mjs';
import { writeModule } from './write-module.mjs';

/** @typedef {import('./expand-lua.mjs').LuaFile} LuaFile */
/** @typedef {import('./expand-lua.mjs').Library} Library */

/**
 * Writes a module beside each file of scripts, if it is not current, and removes those of files that are gone.
 *
 * @param {string} folder of all sources
 * @throws {ScriptFault}
 */
export function writeModules(folder) {
  const files = readLuaFiles(folder);
  requireOwnNames([...files.values()]);
  const names = namesIn(folder);
  const knownTypes = findTypes(folder, names);
  for (const file of files.values()) {
    const text = writeModule(file, helpersFor(file, files), knownTypes);
    writeIfChanged(join(folder, file.path.replace(/\.lua$/, '.script.ts')), text);
  }
  // Of scripts that are gone.
  const stale = names.filter(
    (name) => name.endsWith('.script.ts') && !files.has(name.replace(/\.script\.ts$/, '.lua')),
  );
  for (const name of stale) rmSync(join(folder, name));
}

/**
 * Scripts that run as one are one text. There, the helper of one file would hide that of another one with the same name.
 *
 * @param {readonly LuaFile[]} files
 * @throws {ScriptFault}
 */
function requireOwnNames(files) {
  /** @type {Map<string, string>} */
  const homes = new Map();
  for (const { path, helpers } of files) {
    for (const { name, line } of helpers) {
      const other = homes.get(name);
      // Those that every script has are different where it runs by itself.
      if (other !== undefined && !GLOBALS.includes(name))
        throw new ScriptFault(path, line, `${name} is also in ${other}: give it another name`);
      homes.set(name, path);
    }
  }
}

/** By their path below the folder. @param {string} folder @returns {ReadonlyMap<string, LuaFile>} @throws {ScriptFault} */
export function readLuaFiles(folder) {
  const paths = namesIn(folder).filter((name) => name.endsWith('.lua'));
  return new Map(paths.map((path) => [path, parseFile(path, readFileSync(join(folder, path), 'utf8'))]));
}

/** @param {string} folder */
function namesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
}

/** The helpers that a file may call: those of each file that it includes, then its own. @param {LuaFile} file @param {ReadonlyMap<string, LuaFile>} files @returns {Library[]} */
export function helpersFor(file, files) {
  /** @type {Map<import('./expand-lua.mjs').Helper, Library>} */
  const found = new Map();
  for (const { name, line } of file.tags.includes) {
    const path = join(dirname(file.path), name);
    const included = files.get(path);
    if (!included) throw new ScriptFault(file.path, line, `there is no ${path} to include`);
    for (const library of helpersFor(included, files)) found.set(library.helper, library);
  }
  for (const helper of file.helpers) found.set(helper, { file, helper });
  return [...found.values()];
}

/** The types that `domain/` exports. @param {string} folder @param {readonly string[]} names @returns {ReadonlyMap<string, string>} */
function findTypes(folder, names) {
  const types = new Map();
  for (const name of names) {
    if (!/^domain\/[\w-]+\.ts$/.test(name)) continue;
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, type] of text.matchAll(/^export (?:type|interface) (\w+)/gm))
      types.set(type, name.replace(/\.ts$/, ''));
  }
  return types;
}

/** @param {string} file @param {string} text */
function writeIfChanged(file, text) {
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {
    // It is not there yet.
  }
  writeFileSync(file, text);
}

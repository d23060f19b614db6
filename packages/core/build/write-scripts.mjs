// @ts-check
/**
 * `npm run scripts`: writes a module of TypeScript, `X.script.ts`, beside each script of Redis, `X.lua`: the function that calls
 * it. All that compiles runs this first; it writes what has changed only. What the head of a script says is in `read-head.mjs`.
 * `-- --from DIR` does so in another folder.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readHead, ScriptFault } from './read-head.mjs';
import { writeModule } from './write-module.mjs';

/** @typedef {{ path: string, head: import('./read-head.mjs').Head, lines: string[] }} Source */

// Who installs without what development needs compiles nothing.
const canBeMade = !(process.env['npm_config_omit'] ?? '').includes('dev');

try {
  const { values } = parseArgs({ options: { from: { type: 'string' } } });
  if (canBeMade) await writeScripts(values.from ?? join(import.meta.dirname, '../src'));
} catch (error) {
  if (!(error instanceof ScriptFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** @param {string} folder of all sources */
async function writeScripts(folder) {
  const { expandLua } = await import('./expand-lua.mjs');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  const paths = files.filter((file) => file.endsWith('.lua'));
  const sources = new Map(
    paths.map((path) => [path, { path, ...readHead(path, readFileSync(join(folder, path), 'utf8')) }]),
  );
  const knownTypes = findTypes(folder, files);
  for (const source of sources.values()) {
    const libraries = librariesOf(source, sources);
    const expanded = expandLua(source, libraries);
    const text = writeModule({
      ...source,
      ...expanded,
      libraries: libraries.map(({ path }) => path),
      knownTypes,
    });
    writeIfChanged(join(folder, source.path.replace(/\.lua$/, '.script.ts')), text);
  }
  // Of a script that is gone.
  for (const file of files)
    if (file.endsWith('.script.ts') && !sources.has(file.replace(/\.script\.ts$/, '.lua')))
      rmSync(join(folder, file));
}

/** All that a script includes, each behind those that it needs itself. @param {Source} source @param {ReadonlyMap<string, Source>} sources @returns {Source[]} */
function librariesOf(source, sources) {
  /** @type {Set<Source>} */
  const found = new Set();
  for (const include of source.head.includes) {
    const path = join(dirname(source.path), include);
    const library = sources.get(path);
    if (!library) throw new ScriptFault(source.path, 1, `there is no ${path} to include`);
    for (const each of librariesOf(library, sources)) found.add(each);
    found.add(library);
  }
  return [...found];
}

/** The types that `domain/` exports. @param {string} folder @param {readonly string[]} files @returns {ReadonlyMap<string, string>} */
function findTypes(folder, files) {
  const types = new Map();
  for (const file of files) {
    if (!/^domain\/[\w-]+\.ts$/.test(file)) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name] of text.matchAll(/^export (?:type|interface) (\w+)/gm))
      types.set(name, file.replace(/\.ts$/, ''));
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

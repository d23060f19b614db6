// @ts-check
/**
 * A part of `npm run generate`: brings the portal's message files (`apps/portal/src/language/messages/*.po`) up to date with the texts in its code. New ones
 * come without a translation, and those that are no longer in the code go. `-- --check` (a part of `npm run lint`) says which texts lack a
 * translation, which translations lost a value or a tag, and which texts no message file can have, as they stand in the code as
 * plain strings.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import extractMessages from '@lingui/babel-plugin-extract-messages';
import { expandMacros } from '../apps/portal/build/expand-macros.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { faultsOf, fileOf } from './texts/message-file.mjs';
import { findPlainTexts } from './texts/plain-texts.mjs';

const SOURCES = 'apps/portal/src';
const FILES = join(projectFolder, SOURCES, 'language', 'messages');

const { values } = parseArgs({ options: { check: { type: 'boolean' } } });
const sources = findSources();
const texts = readTexts();
const languages = (existsSync(FILES) ? readdirSync(FILES) : []).filter((name) => name.endsWith('.po'));

if (values.check) {
  const faults = [
    ...sources.flatMap((path) => findPlainTexts(readSource(path), path)),
    ...languages.flatMap((name) =>
      faultsOf(readFileSync(join(FILES, name), 'utf8'), basename(name, '.po'), texts).map(
        (fault) => `${SOURCES}/language/messages/${name}: ${fault}`,
      ),
    ),
  ];
  for (const fault of faults) console.error(fault);
  say('texts', `${texts.length} texts, ${languages.length} message files, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} else {
  for (const name of languages) {
    const path = join(FILES, name);
    const language = basename(name, '.po');
    const file = fileOf(readFileSync(path, 'utf8'), language, texts);
    writeFileSync(path, file.toString());
    const missing = file.items.filter(({ msgstr }) => !msgstr[0]).length;
    say('texts', `${language}: ${texts.length} texts, ${missing} without a translation`);
  }
}

function findSources() {
  // Those that are not committed yet, too.
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', `${SOURCES}/*.ts`, `${SOURCES}/*.tsx`],
    {
      cwd: projectFolder,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\n')
    .filter((path) => path !== '' && !/\.test\.tsx?$|\/testing\/|\.d\.ts$/.test(path))
    .filter((path) => existsSync(join(projectFolder, path)));
}

/** @param {string} path */
function readSource(path) {
  return readFileSync(join(projectFolder, path), 'utf8');
}

/** Those in the code, each once, in the order of their words. @returns {readonly import('./texts/message-file.mjs').Text[]} */
function readTexts() {
  /** @type {Map<string, import('./texts/message-file.mjs').Text & { places: string[] }>} */
  const found = new Map();
  for (const path of sources) {
    /** @param {{ message?: string, context?: string }} text */
    const onMessageExtracted = ({ message = '', context = '' }) => {
      const key = `${context}\n${message}`;
      const text = found.get(key) ?? { message, context, places: [] };
      // Without lines: a file that only moves its code changes no message file.
      if (!text.places.includes(path)) text.places.push(path);
      found.set(key, text);
    };
    expandMacros(readSource(path), path, {
      i18n: 'language/language.ts',
      plugins: [[extractMessages, { onMessageExtracted }]],
    });
  }
  return [...found.values()].toSorted(
    (one, other) => compare(one.message, other.message) || compare(one.context, other.context),
  );
}

/** @param {string} one @param {string} other */
function compare(one, other) {
  return one < other ? -1 : Number(one > other);
}

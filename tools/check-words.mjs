// @ts-check
/** Part of `npm run lint`: pages that use a word which docs/style.md replaces. `--page FILE` looks at that one alone. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';

const STYLE = 'docs/style.md';
const CODE = /^ *```[^]*?^ *```$|`[^`\n]*`/gm;

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const words = readWords(readFileSync(join(projectFolder, STYLE), 'utf8'));
const pages = values.page === undefined ? findPages() : [values.page];
const faults = pages.flatMap((page) => faultsIn(page));
for (const fault of faults) console.error(fault);
say('words', `${pages.length} pages, ${words.length} words, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

/** @param {string} style */
function readWords(style) {
  const [, rest = ''] = style.split('<!-- words:');
  const [table = ''] = rest.split('<!-- /words -->');
  const rows = [...table.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\|$/gm)].filter(
    ([, not = '']) => !/^(Not|-+)$/.test(not),
  );
  return rows.flatMap(([, not = '', but = '']) => not.split(', ').map((word) => ({ word, but })));
}

function findPages() {
  const listed = execFileSync('git', ['ls-files', '*.md', 'docs/openapi.json'], {
    cwd: projectFolder,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((page) => page !== '' && ![STYLE, 'CHANGELOG.md'].includes(page));
}

/** @param {string} page */
function faultsIn(page) {
  const text = readFileSync(join(projectFolder, page), 'utf8').replace(CODE, (code) =>
    code.replace(/[^\n]/g, ' '),
  );
  return text
    .split('\n')
    .flatMap((line, index) =>
      words
        .filter(({ word }) => new RegExp(`\\b${word}\\b`, 'i').test(line))
        .map(({ word, but }) => `${page}:${index + 1}: "${word}" → ${but}`),
    );
}

// @ts-check
/**
 * Part of `npm run lint`: pages that use a word which docs/style.md replaces, or begin a sentence with a clause as its subject,
 * pages of docs/ with a row of a table that no terminal shows in one line, and comments in commands to paste. Sources of the portal
 * are pages too: its texts stand in them.
 * `--page FILE` looks at that one alone.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';

const STYLE = 'docs/style.md';
const PORTAL = 'apps/portal/src/*.ts*';
// "What is owed is held." Headings, cells of tables, questions and what a colon follows are titles.
const CLAUSE = /(?<=^|[.:] |\*\*)(?:What|Whatever|Who|Whoever|Whose) [^.?:|]*\.(?= |$)/gm;
/** For columns of a terminal. Longer texts are a list: a table of them is drawn over several lines, and nobody can read it. */
const WIDEST_ROW = 160;
/** Lists of commands, each with what it is for, of which a developer types one. */
const LISTS = ['docs/benchmarks.md', 'docs/reliability.md', 'e2e/faults/README.md'];
const COMMANDS = /^ *```(?:sh|bash)\n([^]*?)^ *```$/gm;
/** Programs that commands write into a file. */
const HERE_DOCUMENT = /<<'?(\w+)'?\n[^]*?^\1$/gm;
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
  const listed = execFileSync('git', ['ls-files', '*.md', 'docs/openapi.json', PORTAL], {
    cwd: projectFolder,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((page) => page !== '' && ![STYLE, 'CHANGELOG.md'].includes(page));
}

/** @param {string} page */
function faultsIn(page) {
  const whole = readFileSync(join(projectFolder, page), 'utf8');
  // In sources, texts stand between backticks.
  const text = /\.tsx?$/.test(page) ? whole : whole.replace(CODE, (code) => code.replace(/[^\n]/g, ' '));
  const found = [...findWords(text), ...(page.endsWith('.md') ? findClauses(text) : [])];
  if (!LISTS.includes(page)) found.push(...findComments(whole));
  if (page.startsWith('docs/') || page === values.page) found.push(...findWideRows(text));
  return found.map(({ line, fault }) => `${page}:${line}: ${fault}`);
}

/** @param {string} text */
function findWords(text) {
  return text
    .split('\n')
    .flatMap((line, index) =>
      words
        .filter(({ word }) => new RegExp(`\\b${word}\\b`, 'i').test(line))
        .map(({ word, but }) => ({ line: index + 1, fault: `"${word}" → ${but}` })),
    );
}

/** @param {string} text */
function findWideRows(text) {
  return text.split('\n').flatMap((row, index) => {
    if (!/^ *\|/.test(row) || row.length <= WIDEST_ROW) return [];
    return [
      { line: index + 1, fault: `a row of a table has ${row.length} columns, more than ${WIDEST_ROW}` },
    ];
  });
}

/**
 * At the prompt of zsh, which is what macOS opens, `#` begins no comment: the rest of the line are arguments.
 * @param {string} whole
 */
function findComments(whole) {
  const commands = [...whole.matchAll(COMMANDS)].map(({ 0: block, index }) => {
    const kept = block.replace(HERE_DOCUMENT, (text) => text.replace(/[^\n]/g, ' '));
    return { first: whole.slice(0, index).split('\n').length, lines: kept.split('\n') };
  });
  return commands.flatMap(({ first, lines }) =>
    lines.flatMap((line, index) =>
      /(?:^| )#(?: |$)/.test(line)
        ? [{ line: first + index, fault: 'a comment in commands to paste: zsh takes it for arguments' }]
        : [],
    ),
  );
}

/** @param {string} text @returns with the line where the paragraph begins */
function findClauses(text) {
  let line = 0;
  return text.split(/\n\n/).flatMap((paragraph) => {
    const first = line + 1;
    line += paragraph.split('\n').length + 1;
    if (/^\s*[#|]/.test(paragraph)) return [];
    const clauses = paragraph.replace(/\s+/g, ' ').trim().match(CLAUSE) ?? [];
    return clauses.map((clause) => ({
      line: first,
      fault: `"${clause.slice(0, 60)}…" has a clause as its subject`,
    }));
  });
}

// @ts-check
/**
 * A part of `npm run generate`: writes what `hookferry-admin explain` knows beside the core's own definitions: the settings of both
 * programs, and what only pages have. Into the file at `--file`, or its place.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiSettings } from '../apps/api/dist/config.js';
import { workerSettings } from '../apps/worker/dist/config.js';
import { projectFolder } from './project-folders.mjs';
import { defaultOf } from './setting-default.mjs';

const { values } = parseArgs({ options: { file: { type: 'string' } } });
const path = values.file ?? join(projectFolder, 'apps/admin/src/explanations.json');

const pages = {
  runbook: await readPage('runbook.md'),
  deliveries: await readPage('deliveries.md'),
  errors: await readPage('errors.md'),
};
const written = {
  settings: settings(),
  alerts: alerts(),
  statuses: entriesOf(pages.deliveries, 'pending').map(({ name, text, parts }) => ({
    name,
    means: text ?? parts['The delivery'],
  })),
  outcomes: rowsOf(pages.deliveries, 'Outcome').map(([name, means]) => ({ name, means })),
  codes: entriesOf(pages.errors, 'malformed_request').map(({ name, parts }) => ({
    name,
    status: parts.Status,
    again: parts.Again,
    means: parts.Cause,
    act: parts['What to do'],
  })),
};
await writeFile(path, `${JSON.stringify(written, undefined, 2)}\n`);

/**
 * With links that lead there from any page.
 * @param {string} name
 */
async function readPage(name) {
  const page = await readFile(join(projectFolder, 'docs', name), 'utf8');
  return page.replaceAll('](#', `](${name}#`);
}

function settings() {
  const { shape: api } = apiSettings;
  const { shape: worker } = workerSettings;
  return Object.entries({ ...api, ...worker }).map(([name, setting]) => ({
    name,
    of: name in api ? (name in worker ? 'API and worker' : 'API') : 'worker',
    default: defaultOf(setting) ?? null,
    means: setting.description ?? '',
  }));
}

/** A section for each. */
function alerts() {
  const sections = pages.runbook.split(/^## /m).slice(1);
  return sections.map((section) => {
    const [name = '', ...text] = section.split('\n');
    return { name, text: text.join('\n').trim() };
  });
}

/**
 * Of the list that begins with this name. An entry has its parts in parentheses, `- \`name\` (Title: text; Title: text)`, or below it,
 * `- **Title:** text`; one that has a single text has it behind a colon.
 * @param {string} page
 * @param {string} first
 */
function entriesOf(page, first) {
  const begin = page.indexOf(`\n- \`${first}\``);
  if (begin === -1) throw new Error(`There is no list that begins with ${first}.`);
  const [list = ''] = page.slice(begin + 1).split('\n\n');
  return list
    .split(/^- /m)
    .slice(1)
    .map((entry) => {
      const [head = '', ...below] = entry
        .split(/^ {2}- /m)
        .map((part) => part.replaceAll(/\s+/g, ' ').trim());
      const [, name = '', within = '', text] = /^`([^`]+)`(?: \(([^)]*)\))?(?:: (.+))?$/.exec(head) ?? [];
      const beside = within.split('; ').map((part) => part.split(': '));
      const parts = below.map((part) => [...(/^\*\*(.+?):\*\* (.+)$/.exec(part) ?? [])].slice(1));
      return {
        name,
        text,
        parts: /** @type {Record<string, string>} */ (Object.fromEntries([...beside, ...parts])),
      };
    });
}

/**
 * Of the table whose first column has this title, without marks of code around the first cell.
 * @param {string} page
 * @param {string} title
 * @returns {readonly (readonly string[])[]}
 */
function rowsOf(page, title) {
  const lines = page.split('\n');
  const head = lines.findIndex((line) => cellsOf(line)[0] === title);
  if (head === -1) throw new Error(`There is no table whose first column is ${title}.`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end).map((line) => {
    const [name = '', ...cells] = cellsOf(line);
    return [name.replaceAll('`', ''), ...cells];
  });
}

/** @param {string} line */
function cellsOf(line) {
  if (!line.startsWith('|')) return [];
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

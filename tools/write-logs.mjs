// @ts-check
/** `npm run logs`: brings the table of `docs/logs.md` up to date, or of the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { levelsOf, signals } from '../packages/core/dist/domain/signal.js';
import { drawTable, withTable } from './page-table.mjs';
import { projectFolder } from './project-folders.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/logs.md');

const names = /** @type {(keyof typeof signals)[]} */ (Object.keys(signals));
const rows = names
  .map((name) => {
    const { means, act } = signals[name];
    // The code's endpoint is called a webhook outside.
    return [`\`${name.replace(/^endpoint\b/, 'webhook')}\``, levelsOf(name).join(', '), means, act ?? '–'];
  })
  .sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
const table = drawTable([['Event', 'Level', 'Means', 'Do'], ...rows]);
await writeFile(path, withTable(await readFile(path, 'utf8'), 'log events', 'npm run logs', table));

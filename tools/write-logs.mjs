// @ts-check
/** A part of `npm run generate`: brings the list of `docs/logs.md` up to date, or of the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { levelsOf, signals } from '../packages/core/dist/domain/signal.js';
import { drawList, withTable } from './page-table.mjs';
import { projectFolder } from './project-folders.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/logs.md');

const names = /** @type {(keyof typeof signals)[]} */ (Object.keys(signals));
const entries = names
  .map((name) => {
    const { means, act } = signals[name];
    // The code's endpoint is called a webhook outside.
    const shown = `\`${name.replace(/^endpoint\b/, 'webhook')}\``;
    return {
      name: shown,
      facts: levelsOf(name),
      text: act === undefined ? means : `${means} **Do:** ${act}`,
    };
  })
  .sort((one, other) => (one.name < other.name ? -1 : 1));
const list = drawList(entries);
await writeFile(path, withTable(await readFile(path, 'utf8'), 'log events', 'npm run generate', list));

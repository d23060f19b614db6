// @ts-check
/** A part of `npm run generate`: brings the lists of settings in `docs/configuration.md` up to date, or in the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiSettings } from '../apps/api/dist/config.js';
import { workerSettings } from '../apps/worker/dist/config.js';
import { drawList, withTable } from './page-table.mjs';
import { projectFolder } from './project-folders.mjs';
import { defaultOf } from './setting-default.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/configuration.md');
const before = await readFile(path, 'utf8');
await writeFile(path, withSettings(before, { api: apiSettings.shape, worker: workerSettings.shape }));

/**
 * @typedef {{ readonly description?: string | undefined, readonly def: object }} Setting as zod has it
 * @typedef {Readonly<Record<string, Setting>>} Settings
 */

/**
 * The page with the lists of all settings in their places: of both processes, and of one alone.
 * @param {string} page
 * @param {{ readonly api: Settings, readonly worker: Settings }} settings
 */
function withSettings(page, { api, worker }) {
  const ofApi = Object.entries(api);
  const ofWorker = Object.entries(worker);
  const parts = {
    'settings of both': ofApi.filter(([name]) => name in worker),
    'settings of the API': ofApi.filter(([name]) => !(name in worker)),
    'settings of the worker': ofWorker.filter(([name]) => !(name in api)),
  };
  let written = page;
  for (const [name, entries] of Object.entries(parts)) {
    written = withTable(written, name, 'npm run generate', describe(entries));
  }
  return written;
}

/** @param {readonly [string, Setting][]} entries */
function describe(entries) {
  return drawList(
    entries.map(([name, setting]) => {
      if (setting.description === undefined) throw new Error(`${name} has no description.`);
      const value = defaultOf(setting);
      const fact = value === undefined ? 'unset' : `\`${value}\``;
      return { name: `\`${name}\``, facts: [fact], text: setting.description };
    }),
  );
}

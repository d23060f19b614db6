// @ts-check
/** `npm run configuration`: brings the tables of settings in `docs/configuration.md` up to date, or in the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiSettings } from '../apps/api/dist/config.js';
import { workerSettings } from '../apps/worker/dist/config.js';
import { withSettings } from './house/describe-settings.mjs';
import { projectFolder } from './project-folders.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/configuration.md');
const page = await readFile(path, 'utf8');
await writeFile(path, withSettings(page, { api: apiSettings.shape, worker: workerSettings.shape }));

// @ts-check
/**
 * `npm run folders`: no import goes against the order of the folders, nothing reaches into another package or imports test
 * code, nobody asks Date.now but the clock, and `docs/architecture.md` shows the folders as they are. Prints their order,
 * says what is wrong, and ends with 1. `npm run lint` runs it too. `-- --write` updates the page, `-- --project FOLDER` looks
 * at another copy.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { withFolders } from './house/describe-folders.mjs';
import { findCommonFaults, findFolderFaults, usesOfFolders } from './house/find-house-faults.mjs';
import { folders, portalFolders } from './house/folders.mjs';
import { readSources } from './house/read-imports.mjs';
import { projectFolder } from './project-folders.mjs';

const APPS = ['admin', 'api', 'portal', 'worker'];
const PORTAL_ENTRY = 'main.tsx';

const { values } = parseArgs({ options: { write: { type: 'boolean' }, project: { type: 'string' } } });
const project = values.project ?? projectFolder;
const pagePath = join(project, 'docs/architecture.md');
const order = folders.map(([name]) => name);
const core = await readSources(join(project, 'packages/core/src'));
const apps = await Promise.all(APPS.map((app) => readSources(join(project, 'apps', app, 'src'))));
const portal = await readSources(join(project, 'apps/portal/src'));
const portalPages = portal.filter(({ path }) => path !== PORTAL_ENTRY);
const faults = [
  ...findFolderFaults(core, order),
  ...findFolderFaults(portalPages, portalFolders),
  ...findCommonFaults(core, 'kernel/clock.ts'),
  ...apps.flatMap((sources) => findCommonFaults(sources, '')),
];

const page = await readFile(pagePath, 'utf8');
const drawn = withFolders(page, folders, usesOfFolders(core, order));
if (values.write) await writeFile(pagePath, drawn);
else if (drawn !== page) faults.push('docs/architecture.md shows other folders: npm run folders -- --write');

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`${order.join(' ← ')}\n`);
process.stdout.write(`${core.length} files in ${order.length} folders, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

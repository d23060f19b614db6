// @ts-check
/** `npm run metrics`: brings the tables of `docs/metrics.md` up to date, or of the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiMetrics, workerMetrics } from '../packages/core/dist/telemetry/metric-catalogue.js';
import { withMetrics } from './house/describe-metrics.mjs';
import { projectFolder } from './project-folders.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/metrics.md');
await writeFile(path, withMetrics(await readFile(path, 'utf8'), { api: apiMetrics, worker: workerMetrics }));

// @ts-check
/** A part of `npm run generate`: brings the lists of `docs/metrics.md` up to date, or of the page at `--page`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiMetrics, workerMetrics } from '../packages/core/dist/telemetry/prom-registry.js';
import { drawList, withTable } from './page-table.mjs';
import { projectFolder } from './project-folders.mjs';

const { values } = parseArgs({ options: { page: { type: 'string' } } });
const path = values.page ?? join(projectFolder, 'docs/metrics.md');
await writeFile(path, withMetrics(await readFile(path, 'utf8'), { api: apiMetrics, worker: workerMetrics }));

/**
 * @typedef {import('../packages/core/dist/telemetry/prom-gauges.js').MetricDefinition} Metric
 */

/**
 * The page with the lists of all metrics in their places: of both processes, and of one alone.
 * @param {string} page
 * @param {{ readonly api: readonly Metric[], readonly worker: readonly Metric[] }} metrics
 */
function withMetrics(page, { api, worker }) {
  const ofApi = new Set(api.map(({ name }) => name));
  const ofWorker = new Set(worker.map(({ name }) => name));
  const parts = {
    'metrics of both': api.filter(({ name }) => ofWorker.has(name)),
    'metrics of the API': api.filter(({ name }) => !ofWorker.has(name)),
    'metrics of the worker': worker.filter(({ name }) => !ofApi.has(name)),
  };
  let written = page;
  for (const [name, metrics] of Object.entries(parts)) {
    written = withTable(written, name, 'npm run generate', describe(metrics));
  }
  return written;
}

/** @param {readonly Metric[]} metrics */
function describe(metrics) {
  return drawList(
    metrics.map(({ name, type, labels, help }) => ({
      name: `\`${name}\``,
      facts: [type],
      text: help + labelsOf(labels),
    })),
  );
}

/** @param {Metric['labels']} labels */
function labelsOf(labels) {
  const each = Object.entries(labels).map(([label, kinds]) => {
    const words = typeof kinds === 'string' ? kinds : kinds.map((value) => `\`${value}\``).join(', ');
    return `\`${label}\`: ${words}`;
  });
  return each.length === 0 ? '' : ` **Labels:** ${each.join('; ')}.`;
}

// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Problem } from '../problem.mjs';
import { findFreePort } from '../processes/free-port.mjs';
import { projectFolder } from '../project-folders.mjs';
import { waitUntilReady } from '../start/wait-until-ready.mjs';
import { findPrometheus } from './find-prometheus.mjs';

/**
 * Starts a Prometheus that scrapes the API and the worker each second, with the rules that come with this project.
 * @param {object} options
 * @param {import('../start/start-stack.mjs').Stack} options.stack
 * @param {string} options.dataFolder
 * @param {import('../processes/process-group.mjs').ProcessGroup} options.group
 * @param {AbortSignal} options.signal
 * @returns {Promise<string>} its URL
 */
export async function startPrometheus({ stack, dataFolder, group, signal }) {
  const found = await findPrometheus();
  if ('refusal' in found) throw new Problem(`There is no Prometheus: ${found.refusal}`);
  const { prometheus } = found.program;
  const folder = join(dataFolder, 'prometheus');
  await mkdir(folder);
  const config = join(folder, 'prometheus.json');
  await writeFile(config, JSON.stringify(configOf(stack)));
  const port = await findFreePort('127.0.0.1', []);
  group.start({
    name: 'prometheus',
    command: [
      prometheus,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Of the same package as the program, wherever that was unpacked.
      `--web.local-assets=${join(dirname(prometheus), '../share/prometheus/web')}`,
      '--log.level=error',
    ],
    env: process.env,
    cwd: folder,
    graceMs: 5_000,
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady({ name: 'Prometheus', url, path: '/-/ready', signal });
  return url;
}

/** @param {import('../start/start-stack.mjs').Stack} stack */
function configOf({ apiUrl, workerUrl }) {
  const jobs = { 'webhooks-api': apiUrl, 'webhooks-worker': workerUrl };
  return {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(projectFolder, 'docker/prometheus/alerts.yml')],
    scrape_configs: Object.entries(jobs).map(([job_name, url]) => ({
      job_name,
      static_configs: [{ targets: [new URL(url).host] }],
    })),
  };
}

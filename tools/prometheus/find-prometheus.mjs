// @ts-check
import { join } from 'node:path';
import { unpackPackage } from '../debian/unpack-package.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/**
 * @typedef {{ readonly prometheus: string, readonly promtool: string }} PrometheusPrograms
 * @typedef {import('../debian/unpack-package.mjs').Found<PrometheusPrograms>} FoundPrometheus
 */

/**
 * Prometheus and its promtool: those on the PATH, or else Debian's, unpacked into the cache folder.
 * @returns {Promise<FoundPrometheus>} or why they can't be had
 */
export async function findPrometheus() {
  const installed = { prometheus: findOnPath('prometheus'), promtool: findOnPath('promtool') };
  if (installed.prometheus && installed.promtool) {
    const found = await inspect({ prometheus: installed.prometheus, promtool: installed.promtool });
    if ('program' in found) return found;
  }
  return await unpackPackage({
    title: 'Prometheus',
    packageName: 'prometheus',
    folderName: 'prometheus',
    inspect: (folder) =>
      inspect({
        prometheus: join(folder, 'usr/bin/prometheus'),
        promtool: join(folder, 'usr/bin/promtool'),
      }),
  });
}

/**
 * @param {PrometheusPrograms} program
 * @returns {Promise<FoundPrometheus>}
 */
async function inspect(program) {
  for (const path of Object.values(program)) {
    const run = await runQuietly([path, '--version']).catch((error) => ({ code: 1, errors: String(error) }));
    if (run.code !== 0) return { refusal: `${path} does not run: ${run.errors.trim()}` };
  }
  return { program };
}

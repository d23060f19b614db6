import { execFile } from 'node:child_process';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(__dirname, '../..');
const LONGER = ['--selectProjects', 'long', 'more-flows', 'slow'];
const SHARDS = [1, 2, 3];

async function list(...args: readonly string[]): Promise<readonly string[]> {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const command = [jest, '--listTests', '--json', ...LONGER, ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
  return (JSON.parse(stdout) as string[]).map((path) => relative(ROOT, path)).sort();
}

it('deals each file of the longer tests to one shard, and each shard about as much to do', async () => {
  const durations = jest.requireActual<Record<string, number>>('../../tools/test/durations.json');
  const shards = await Promise.all(SHARDS.map((shard) => list(`--shard=${shard}/${SHARDS.length}`)));
  expect(shards.flat().sort()).toEqual(await list());
  const seconds = shards.map((files) => files.reduce((sum, file) => sum + (durations[file] ?? 0), 0));
  expect(Math.max(...seconds)).toBeLessThan(1.1 * Math.min(...seconds));
});

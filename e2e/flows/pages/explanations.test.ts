import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const TOOL = resolve(__dirname, '../../../tools/write-explanations.mjs');
const FILE = resolve(__dirname, '../../../apps/admin/src/explanations.json');

it('tells settings, alerts, outcomes and errors as the code and the pages have them: npm run generate', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-explanations-'));
  const copy = join(folder, 'explanations.json');
  await promisify(execFile)(process.execPath, [TOOL, '--file', copy]);
  expect(await readFile(FILE, 'utf8')).toBe(await readFile(copy, 'utf8'));
  await rm(folder, { recursive: true });
});

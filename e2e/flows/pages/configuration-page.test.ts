import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const TOOL = resolve(__dirname, '../../../tools/write-configuration.mjs');
const PAGE = resolve(__dirname, '../../../docs/configuration.md');

let folder: string;
let copy: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-configuration-'));
  copy = join(folder, 'configuration.md');
  await copyFile(PAGE, copy);
});
afterEach(() => rm(folder, { recursive: true }));

const write = async () => await promisify(execFile)(process.execPath, [TOOL, '--page', copy]);

it('tells all settings as the code has them: npm run generate', async () => {
  await write();
  expect(await readFile(copy, 'utf8')).toBe(await readFile(PAGE, 'utf8'));
});

it('is brought up to date when it tells something else', async () => {
  const text = await readFile(PAGE, 'utf8');
  await writeFile(copy, text.replace('(`15s`)', '(`16s`)').replace('- `RATE_LIMIT` ', '- `RATE_LIMITS` '));
  await write();
  expect(await readFile(copy, 'utf8')).toBe(text);
});

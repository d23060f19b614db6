import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const TOOL = resolve(__dirname, '../../../tools/write-logs.mjs');
const PAGE = resolve(__dirname, '../../../docs/logs.md');

let folder: string;
let copy: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-logs-'));
  copy = join(folder, 'logs.md');
  await copyFile(PAGE, copy);
});
afterEach(() => rm(folder, { recursive: true }));

const write = async () => await promisify(execFile)(process.execPath, [TOOL, '--page', copy]);

it('tells all log events as the code has them: npm run generate', async () => {
  await write();
  expect(await readFile(copy, 'utf8')).toBe(await readFile(PAGE, 'utf8'));
});

it('is brought up to date when it tells something else', async () => {
  const text = await readFile(PAGE, 'utf8');
  await writeFile(copy, text.replace('`webhook.disabled`', '`endpoint.off`'));
  await write();
  expect(await readFile(copy, 'utf8')).toBe(text);
});

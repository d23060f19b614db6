import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { apiMetrics, workerMetrics } from '@hookferry/core/telemetry/prom-registry';

const DOCS = resolve(__dirname, '../../../docs');
const TOOL = resolve(__dirname, '../../../tools/write-metrics.mjs');
const PAGE = join(DOCS, 'metrics.md');

let folder: string;
let copy: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-metrics-'));
  copy = join(folder, 'metrics.md');
  await copyFile(PAGE, copy);
});
afterEach(() => rm(folder, { recursive: true }));

const write = async () => await promisify(execFile)(process.execPath, [TOOL, '--page', copy]);

it('tells all metrics as the code has them: npm run generate', async () => {
  await write();
  expect(await readFile(copy, 'utf8')).toBe(await readFile(PAGE, 'utf8'));
});

it('is brought up to date when it tells something else', async () => {
  const text = await readFile(PAGE, 'utf8');
  await writeFile(
    copy,
    text.replace('`exhausted`', '`tired`').replace('webhooks_queue_jobs', 'webhooks_jobs'),
  );
  await write();
  expect(await readFile(copy, 'utf8')).toBe(text);
});

it('knows every metric that any page speaks of', async () => {
  // Members of responses, in lower case too.
  const others = ['webhooks_left', 'webhooks_disabled', 'webhooks_changed'];
  const known = [...apiMetrics, ...workerMetrics].map(({ name }) => name);
  const pages = (await readdir(DOCS)).filter((name) => name.endsWith('.md'));
  const texts = await Promise.all(pages.map(async (name) => await readFile(join(DOCS, name), 'utf8')));
  const named = texts.flatMap((text) => text.match(/\bwebhooks_[a-z_]+\b/g) ?? []);
  expect(
    named.filter((name) => ![...known, ...others].includes(name.replace(/_(bucket|count|sum)$/, ''))),
  ).toEqual([]);
  expect(named).not.toEqual([]);
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const TOOL = resolve(__dirname, '../../tools/capacity.mjs');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-capacity-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(path: object, scale: object, ...flags: readonly string[]): Promise<string> {
  const files = [join(folder, 'path.json'), join(folder, 'scale.json')] as const;
  await writeFile(files[0], JSON.stringify(path));
  await writeFile(files[1], JSON.stringify(scale));
  return await new Promise((done) => {
    execFile(process.execPath, [TOOL, ...files, ...flags], (_error, out, error) => done(out + error));
  });
}

const cpuOf = (part: string, service: number) => ({ name: `saturated: CPU per event, ${part}, µs`, service });
const path = { ratios: [cpuOf('API', 800), cpuOf('worker', 1_500), cpuOf('Redis', 400)] };
const scale = { workers: { 1: { workerMicros: 1_000, redisMicros: 300, redisBytes: 1_024 } } };
const flags = ['--peak', '2', '--busy', '0.5', '--answer', '200', '--kept', '1'];

it('computes what so many deliveries a day need, as docs/performance.md says', async () => {
  const out = await run(path, scale, '--attempts', '1', ...flags);
  // 10^9 × 2 ÷ 86,400 s = 23,148/s; × 0.8 ms ÷ 0.5 = 37.04 cores of APIs; × 1.5 ms ÷ 0.5 = 69.4 of workers; × 0.4 ms ÷ 0.5 =
  // 18.5 of Redis; × 200 ms = 4,630 under way.
  expect(rowOf(out)).toEqual(['23148', '38', '70', '19', '953.7', '4630', '16.4 %']);
});

it('takes what follows the first delivery of an event for a delivery more', async () => {
  const out = await run(path, scale, '--attempts', '1.25', '--fanout', '4', ...flags);
  // 5,787 events/s and 28,935 attempts, 23,148 of them further ones: (5,787 × 1.5 + 23,148 × 1 ms) ÷ 0.5 = 63.7 of workers;
  // (5,787 × 0.4 + 23,148 × 0.3 ms) ÷ 0.5 = 18.5 of Redis.
  expect(rowOf(out)).toEqual(['28935', '10', '64', '19', '953.7', '5788', '20.5 %']);
});

/** Of 10^9 a day. */
function rowOf(out: string): readonly string[] {
  const rows = out.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.find(([, perDay]) => perDay === '1,000,000,000')?.slice(2, -1) ?? [];
}

it('says what is missing or wrong', async () => {
  expect(await run({ ratios: [] }, scale)).toContain('no figures of the path');
  expect(await run(path, { shards: {} })).toContain('no figures of the scene "workers"');
  expect(await run(path, scale, '--busy', 'very')).toContain('--busy must be a number above 0');
});

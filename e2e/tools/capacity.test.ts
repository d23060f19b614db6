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

async function run(figures: object, ...flags: readonly string[]): Promise<string> {
  const file = join(folder, 'figures.json');
  await writeFile(file, JSON.stringify(figures));
  return await new Promise((done) => {
    execFile(process.execPath, [TOOL, file, ...flags], (_error, out, error) => done(out + error));
  });
}

const figures = { workers: { 1: { workerMicros: 1_000, redisMicros: 300, redisBytes: 1_024 } } };
const flags = ['--peak', '2', '--busy', '0.5', '--attempts', '1', '--answer', '200', '--kept', '1'];

it('computes what so many deliveries a day need, as docs/performance.md says', async () => {
  const out = await run(figures, ...flags);
  const rows = out.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  // 10^9 × 2 ÷ 86,400 s = 23,148/s; × 1 ms ÷ 0.5 = 46.3 cores; × 0.3 ms ÷ 0.5 = 13.9; × 200 ms = 4,630 under way.
  expect(rows.find(([, perDay]) => perDay === '1,000,000,000')).toEqual(
    expect.arrayContaining(['23148', '47', '14', '953.7', '4630', '16.4 %']),
  );
});

it('says what is missing or wrong', async () => {
  expect(await run({ shards: {} })).toContain('no figures of the scene "workers"');
  expect(await run(figures, '--busy', 'very')).toContain('--busy must be a number above 0');
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const TOOL = resolve(__dirname, '../../tools/figures.mjs');

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
    execFile(process.execPath, [TOOL, '--capacity', ...files, ...flags], (_error, out, error) =>
      done(out + error),
    );
  });
}

const cpuOf = (part: string, service: number) => ({ name: `saturated: CPU per event, ${part}, µs`, service });
const path = { ratios: [cpuOf('API', 800), cpuOf('worker', 1_500), cpuOf('Redis', 400)] };
const scale = { workers: { 1: { workerMicros: 1_000, redisMicros: 300, redisBytes: 1_024 } } };
const flags = ['--peak', '2', '--busy', '0.5', '--response', '200', '--kept', '1'];

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

it('computes what a history needs, by what moving one has cost', async () => {
  const history = {
    history: {
      workerMicros: 50,
      redisMicros: 25,
      postgresMicros: 30,
      redisBytesClaim: 64,
      diskBytes: { webhook_events: 400, webhook_attempts: 600 },
    },
  };
  const file = join(folder, 'history.json');
  await writeFile(file, JSON.stringify(history));
  const more = ['--lag', '60', '--history', '30', '--chosen', '0.5', '--attempts', '1'];
  const out = await run(path, scale, file, ...more, ...flags);
  // 23,148/s: × 60 s × 1 KiB = 1.325 GiB, and 10^9 × 0.5 × a day × 64 bytes = 29.802 GiB; × 50, 25 and 30 µs ÷ 0.5 = 2.3, 1.2
  // and 1.4 cores; 10^9 × 30 days × 1,000 bytes.
  expect(rowOf(out.slice(out.indexOf('moving')))).toEqual(['31.127', '3', '2', '2', '27,940']);
  expect(await run(path, scale, join(folder, 'path.json'))).toContain('no figures of the history');
});

/** Of 10^9 a day. */
function rowOf(out: string): readonly string[] {
  const rows = out.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.find(([, perDay]) => perDay === '1,000,000,000')?.slice(2, -1) ?? [];
}

it('says what is missing or wrong', async () => {
  expect(await run({ ratios: [] }, scale)).toContain('no figures of the benchmark "path"');
  expect(await run(path, { shards: {} })).toContain('no figures of the scene "workers"');
  expect(await run(path, scale, '--busy', 'very')).toContain('--busy must be a number above 0');
});

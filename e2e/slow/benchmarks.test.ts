import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasPostgres } from '@hookferry/core/testing/postgres-server';
import { until } from '../support/until';

const MAIN = join(__dirname, '..', '..', 'bench', 'dist', 'main.js');
const FIGURES = join(__dirname, '..', '..', 'docs', 'figures.json');

it('runs the benchmark of the drain, in its short form, and prints both rates and their ratio', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'drain', '--short']);

  const [, plain, service, ratio] =
    /deliveries per second\s*\|\s*([\d.]+) \|\s*([\d.]+) \|\s*([\d.]+)/.exec(stdout) ?? [];
  expect(Number(plain)).toBeGreaterThan(0);
  expect(Number(service)).toBeGreaterThan(0);
  expect(Number(ratio)).toBeCloseTo(Number(service) / Number(plain), 1);
});

(hasPostgres ? describe : describe.skip)('with a PostgreSQL', () => {
  it('runs the benchmark of the history in PostgreSQL, in its short form, and prints what it has measured beside each aim', async () => {
    const args = ['history', '--scene', 'pages', '--short', '--deliveries', '4000', '--rounds', '3'];
    const { stdout, json } = await runWithJson(args);
    const { history } = json as { history: Record<string, number> };

    const measured = (name: string) => {
      const [, aim, value, met] =
        new RegExp(`\\| ${name}[^|]*\\|([^|]*)\\|\\s*([\\d.]+) \\|([^|]*)\\|`).exec(stdout) ?? [];
      return { aim: aim?.trim(), value: Number(value), met: met?.trim() };
    };
    const perSecond = measured('moved in a second by one worker');
    expect(perSecond.value).toBe(Math.round(history.movedPerSecond ?? 0));
    expect(perSecond).toMatchObject({ aim: '≥ 5000', met: perSecond.value >= 5_000 ? 'yes' : 'no' });
    const parts = ['… worker', '… Redis', '… PostgreSQL'].map((name) => measured(name).value);
    const sum = parts.reduce((all, each) => all + each, 0);
    expect(Math.abs(measured('processor time of moving one').value - sum)).toBeLessThanOrEqual(2);
    for (const name of ['pages of 50', 'search by data', 'metrics'])
      expect(measured(name).value).toBeGreaterThan(0);
  });
});

it('counts what Redis writes and keeps for an event, as the figures of the pages have it', async () => {
  const { json } = await runWithJson(['aof', '--scene', 'sizes', '--short', '--deliveries', '300']);
  const { ratios } = json as { ratios: readonly { name: string; value: number }[] };
  const values = new Map(ratios.map(({ name, value }) => [name, value]));
  const shipped = JSON.parse(await readFile(FIGURES, 'utf8')) as {
    aof: { figures: Record<string, { name: string; value: number }> };
  };
  for (const { name, value } of Object.values(shipped.aof.figures)) {
    if (name.startsWith('syncs')) continue;
    // So few events have more of what all share.
    expect(values.get(name)).toBeGreaterThan(value / 3);
    expect(values.get(name)).toBeLessThan(value * 3);
  }
});

it('runs an attack of the benchmark of tenants for as long as is said, and writes what another account noticed', async () => {
  const { json } = await runWithJson(['tenants', '--scene', 'wrong-keys', '--seconds', '1']);
  const { rows } = json as { rows: unknown[] };

  const figures = ['publish_p99_ms', 'delivery_p99_ms', 'api_p99_ms', 'redis_memory_mb'];
  const each = figures.flatMap((figure) => [figure, `quiet_${figure}`]);
  expect(rows).toEqual([
    expect.objectContaining({
      attack: 'wrong-keys',
      ...Object.fromEntries(each.map((figure) => [figure, expect.any(Number)])),
      answers: { 401: expect.any(Number) },
      met: expect.any(Boolean),
    }),
  ]);
});

it('runs the scenes of slow receivers, in their short form, and writes the figures of each', async () => {
  const args = ['--short', '--receiver-ms', '20', '--webhooks', '1,3', '--busy', '1'];
  const { stdout, json } = await runPath(args);
  const { scenes } = json as { scenes: PathScene[] };

  expect(scenes).toMatchObject([
    { receiverMs: 20, webhooks: 1, busy: 1 },
    { receiverMs: 20, webhooks: 3, busy: 1 },
  ]);
  for (const { ratios, raw } of scenes) {
    expect(ratios).toContainEqual(expect.objectContaining({ name: 'delivered per second', aim: '≥ 0.85' }));
    for (const { deliveredPerSecond } of [...raw.plain, ...raw.service])
      expect(deliveredPerSecond).toBeGreaterThan(0);
  }
  expect(stdout).toContain('receivers of 20 ± 10 ms, 3 webhooks, 1 busy process');
});

it('runs cases of the service beside its plain one, in their short form, and writes the figures of each', async () => {
  const { stdout, json } = await runPath([
    '--short',
    '--deliveries',
    '100',
    '--scenes',
    'retry,batch,filtered',
  ]);
  const { scenes } = json as { scenes: (PathScene & { readonly name: string })[] };

  expect(scenes.map(({ name }) => name)).toEqual(['retry', 'batch', 'filtered']);
  for (const { ratios, raw } of scenes) {
    expect(ratios).toContainEqual(
      expect.objectContaining({
        name: expect.stringMatching(/^CPU per (event|attempt|delivery), all/),
        value: expect.any(Number),
      }),
    );
    for (const { deliveredPerSecond } of [...raw.plain, ...raw.service])
      expect(deliveredPerSecond).toBeGreaterThan(0);
  }
  expect(stdout).toContain('retry: 50 webhooks, each event is answered with 500 once');
});

it('runs a scene of the drain, in which something grows, and writes the figures of each size', async () => {
  const { json } = await runWithJson(['drain', '--scene', 'endpoints', '--short', '--deliveries', '500']);
  const { endpoints } = json as { endpoints: Record<string, { readonly deliveriesPerSecond: number }> };

  expect(Object.keys(endpoints)).toEqual(['10', '2500']);
  for (const { deliveriesPerSecond } of Object.values(endpoints))
    expect(deliveriesPerSecond).toBeGreaterThan(0);
});

it('counts what a backlog in an order and one in batches take of Redis, beside their aims and as many plain ones', async () => {
  const names = ['strict-backlog', 'batch-backlog'];
  const args = ['drain', '--scene', names.join(), '--short', '--deliveries', '200'];
  const { stdout, json } = await runWithJson(args);
  const scenes = json as Record<string, { readonly ratios: readonly Ratio[] }>;

  expect(Object.keys(scenes)).toEqual(names);
  for (const { ratios } of Object.values(scenes)) {
    const own = new Map(ratios.map((each) => [each.name, each]));
    const commands = own.get('Redis commands per delivery');
    const scripts = own.get('Redis scripts per delivery');
    expect(commands?.service).toBeGreaterThan(scripts?.service ?? Number.NaN);
    expect(scripts?.service).toBeGreaterThan(0);
    // A plain one has a job of its own.
    expect(own.get('bytes in Redis of one that waits')?.plain).toBeGreaterThan(300);
  }
  expect(stdout).toContain('strict-backlog: ten webhooks with strict ordering, 200 deliveries wait');
  expect(stdout).toContain('≤ 3.5, of its own');
});

it('says which cases there are when it is asked for another one', async () => {
  await expect(runPath(['--scenes', 'speed'])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The scenes are: retry, bodies'),
  });
});

it('ends its busy processes however it ends itself', async () => {
  const program = `
    const { startBusyProcesses } = require('@hookferry/core/testing/busy-processes');
    console.log(startBusyProcesses(2).map(({ pid }) => pid).join());
    setInterval(() => {}, 1_000);
  `;
  const bench = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(bench.stdout, 'data')) as [Buffer];
  const folders = String(line)
    .trim()
    .split(',')
    .map((pid) => `/proc/${pid}`);
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, true]);

  bench.kill('SIGKILL');
  await until(async () => (folders.some((folder) => existsSync(folder)) ? undefined : true));
});

it('opens a page of the portal in a browser, and counts what it loads beside the bounds', async () => {
  const { json } = await runWithJson(['portal', '--short', '--scene', 'webhook']);
  const { ratios } = json as { ratios: readonly { name: string; value: number; met: boolean }[] };
  const valueOf = (wanted: string) => ratios.find(({ name }) => name === wanted)?.value ?? 0;
  for (const name of ['first load, kB', 'loaded ahead, kB']) expect(valueOf(name)).toBeGreaterThan(50);
  for (const name of ['largest part painted after, ms', 'slowest input, ms'])
    expect(valueOf(name)).toBeGreaterThan(0);
  expect(valueOf('layout shift')).toBeLessThanOrEqual(0.05);
});

it('says which benchmarks there are when it is asked for another one', async () => {
  const run = promisify(execFile)(process.execPath, [MAIN, 'speed']);
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The benchmarks are: path'),
  });
});

interface Ratio {
  readonly name: string;
  readonly plain: number;
  readonly service: number;
}

interface PathScene {
  readonly ratios: readonly { readonly name: string }[];
  readonly raw: Record<'plain' | 'service', readonly { readonly deliveredPerSecond: number }[]>;
}

async function runPath(args: readonly string[]): Promise<{ stdout: string; json: unknown }> {
  return await runWithJson(['path', ...args]);
}

async function runWithJson(args: readonly string[]): Promise<{ stdout: string; json: unknown }> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-bench-'));
  const file = join(folder, 'figures.json');
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, '--json', file]);
  const json: unknown = JSON.parse(await readFile(file, 'utf8'));
  await rm(folder, { recursive: true });
  return { stdout, json };
}

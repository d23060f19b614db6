import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const TOOL = join(ROOT, 'tools/figures.mjs');
/** What `hookferry-admin capacity` computes with. */
const SHIPPED = 'apps/admin/src/capacity-figures.json';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'webhooks-figures-'));
  const texts = (path: string) => !path.includes('/images');
  await cp(join(ROOT, 'docs'), join(root, 'docs'), { recursive: true, filter: texts });
  for (const file of ['README.md', 'site/home.md', SHIPPED]) await cp(join(ROOT, file), join(root, file));
});
afterEach(() => rm(root, { recursive: true }));

async function run(...args: readonly string[]): Promise<{ code: number; out: string }> {
  return await new Promise((done) => {
    execFile(process.execPath, [TOOL, '--root', root, ...args], (error, out, errors) =>
      done({ code: error === null ? 0 : 1, out: out + errors }),
    );
  });
}

async function change(page: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(join(root, page), 'utf8');
  expect(text).toMatch(from);
  await writeFile(join(root, page), text.replace(from, to));
}

it('every page quotes the figures that were measured: npm run figures', async () => {
  expect(await run('--check')).toEqual({ code: 0, out: '' });
});

it('each number of events in the table of what a 202 means is one of the runs that reliability.md has', async () => {
  const [page, runs] = await Promise.all(
    ['what-a-202-means.md', 'reliability.md'].map((name) => readFile(join(root, 'docs', name), 'utf8')),
  );
  const cells = [...(page ?? '').matchAll(/\b\d+ of ([\d,]+)/g)].map(([, events = '']) => events);
  expect(cells.length).toBeGreaterThan(10);
  expect(cells.filter((events) => !new RegExp(`\\b${events}\\b`).test(runs ?? ''))).toEqual([]);
});

it('a figure that is changed by hand is found, and put right by the command', async () => {
  await change('docs/performance.md', /(api -->)[\d,]+ µs/, '$1778 µs');
  const { code, out } = await run('--check');
  expect(code).toBe(1);
  expect(out).toMatch(/docs\/performance\.md: path\.saturated-cpu-per-event-api is \d+ µs, not 778 µs/);
  await run();
  expect(await run('--check')).toEqual({ code: 0, out: '' });
});

it('the calculator of capacity computes with the figures that were measured', async () => {
  await change(
    'docs/figures.json',
    /("at-100-cpu-per-event-api": \{\s+"name": "[^"]+",\s+"value": )\d+/,
    '$1777',
  );
  expect((await run('--check')).out).toContain(`${SHIPPED} is outdated. Update it: npm run figures`);
  await run();
  expect(JSON.parse(await readFile(join(root, SHIPPED), 'utf8'))).toMatchObject({
    path: { api: { at100: 777 } },
  });
});

it('what a benchmark has written is taken in by every page that quotes it', async () => {
  const file = join(root, 'drain.json');
  const ratios = [{ name: 'worker CPU per delivery, µs', plain: 250, service: 125, aim: null, met: null }];
  await writeFile(file, JSON.stringify({ ratios }));
  const { out } = await run(`drain=${file}`, '--commit', 'abc', '--date', '2027-01-02');
  // The file says nothing of what the pages quote beside it.
  expect(out).toContain('there is no figure drain.deliveries-per-second');
  expect(JSON.parse(await readFile(join(root, 'docs/figures.json'), 'utf8'))).toMatchObject({
    drain: {
      commit: 'abc',
      date: '2027-01-02',
      figures: { 'worker-cpu-per-delivery': { value: 125, pair: 250, ratio: 0.5, unit: 'µs' } },
    },
  });
});

it('no page tells processor time that is not among the figures', async () => {
  const names = await readdir(join(root, 'docs'), { recursive: true });
  const pages = ['README.md', ...names.filter((each) => each.endsWith('.md')).map((each) => `docs/${each}`)];
  // The page of what was measured is where figures come from.
  const others = pages.filter((page) => page !== 'docs/benchmarks.md');
  const told = await Promise.all(
    others.map(async (page) => {
      const whole = await readFile(join(root, page), 'utf8');
      const text = whole.replace(/<!-- capacity of one:.*<!-- \/capacity of one -->/s, '');
      const figures = [...text.matchAll(/(.{20}\b)[\d,.]*\d µs/g)].filter(
        ([, before = '']) => !before.endsWith('-->'),
      );
      // A table may name its unit in its head, or in the first cell of a row.
      return [...figures, ...text.matchAll(/^\|.*, µs \|.*$/gm)];
    }),
  );
  expect(told.flat().map(([text]) => text)).toEqual([]);
});

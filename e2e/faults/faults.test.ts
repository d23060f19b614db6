import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runSuite } from './run-suite';

const PROJECT = resolve(__dirname, '../..');

// It ends by itself within two minutes, on a machine that has nothing else to do; this is for one that hangs.
const WITHIN_MS = 400_000;

it(
  'keeps every promise through one fault of most kinds: none lost, none twice without a reason',
  async () => {
    const { seed, findings, rows } = await runSuite(['short'], WITHIN_MS);
    // With the seed, so that the message says how to see it again.
    expect({ seed, findings }).toEqual({ seed, findings: [] });
    expect(rows.length).toBeGreaterThanOrEqual(12);
    expect(rows.some(({ acknowledged }) => acknowledged > 0)).toBe(true);
  },
  WITHIN_MS + 10_000,
);

it.each(['confirmed', 'durable'])(
  'keeps them as well where a 202 is %s',
  async (mode) => {
    const kinds = 'worker-kill,api-kill,redis-outage-1s';
    const { seed, findings, rows } = await runSuite(['short', '--kinds', kinds, '--mode', mode], WITHIN_MS);
    expect({ seed, findings }).toEqual({ seed, findings: [] });
    const ran = rows.filter(({ acknowledged }) => acknowledged > 0).map(({ fault }) => fault);
    expect(ran.sort()).toEqual(
      kinds
        .split(',')
        .map((kind) => `${kind}-${mode}`)
        .sort(),
    );
  },
  WITHIN_MS + 10_000,
);

it('says why a fault can not be had in a mode', async () => {
  const { rows, messages } = await runSuite(['redis-gone', 'restore-drill-confirmed']);
  expect(rows).toEqual([]);
  expect(messages).toMatch(
    /LEFT OUT: redis-gone: .*\n[^]*LEFT OUT: restore-drill-confirmed: a replica follows/,
  );
});

/** The service as it is built, but its workers start so often only. */
async function buildWithWorkerStarts(starts: number): Promise<string> {
  const build = await mkdtemp(join(tmpdir(), 'webhooks-faults-build-'));
  const folder = join(build, 'apps/worker/dist');
  await mkdir(folder, { recursive: true });
  await symlink(join(PROJECT, 'apps/api'), join(build, 'apps/api'));
  const script = `
    const { appendFileSync, readFileSync } = require('node:fs');
    appendFileSync(__dirname + '/starts', '.');
    if (readFileSync(__dirname + '/starts').length > ${starts}) process.exit(1);
    require(${JSON.stringify(join(PROJECT, 'apps/worker/dist/main.js'))});`;
  await writeFile(join(folder, 'main.js'), script);
  return build;
}

it(
  'ends after a life that broke off in the middle, which is a finding',
  async () => {
    const build = await buildWithWorkerStarts(2);
    const words = ['full', '--kinds', 'worker-restart', '--runs', '1', '--build', build];
    const { findings } = await runSuite(words, WITHIN_MS);
    await rm(build, { recursive: true });
    const examples = [expect.stringContaining('ended at its start')];
    expect(findings).toMatchObject([{ check: 'the run broke off', examples }]);
  },
  WITHIN_MS + 10_000,
);

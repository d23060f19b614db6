import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const RUN_JEST = pathToFileURL(resolve(__dirname, '../../tools/test/run-jest.mjs')).href;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unsteady-'));
  await write('jest.config.json', JSON.stringify({ rootDir: folder, testEnvironment: 'node' }));
  await write('steady.test.js', `it('passes', () => undefined);`);
});
afterEach(async () => await rm(folder, { recursive: true }));

const write = async (name: string, text: string) => await writeFile(join(folder, name), text);

/** Runs the tests of the folder as `npm run test:all` runs its own. */
async function run(): Promise<{ readonly counts: unknown; readonly output: string }> {
  const projects = JSON.stringify(['--config', join(folder, 'jest.config.json')]);
  const program = `import { runJestTwice } from ${JSON.stringify(RUN_JEST)};
    const counts = await runJestTwice([], ${projects}, {});
    console.log('COUNTS' + JSON.stringify(counts));`;
  const output = await new Promise<string>((done, fail) => {
    const command = ['--input-type=module', '-e', program];
    execFile(process.execPath, command, (error, stdout, stderr) =>
      error ? fail(error) : done(stdout + stderr),
    );
  });
  const [, counts = ''] = /COUNTS(.*)/.exec(output) ?? [];
  return { counts: JSON.parse(counts), output };
}

it('names a test that fails beside others and passes alone, and counts it as passed', async () => {
  const once = JSON.stringify(join(folder, 'ran'));
  await write(
    'moody.test.js',
    `const { existsSync, writeFileSync } = require('node:fs');
     const isSecond = existsSync(${once});
     writeFileSync(${once}, '');
     it('is late', () => { if (!isSecond) throw new Error('too late'); });
     it('has a neighbour', () => undefined);`,
  );
  const { counts, output } = await run();
  expect(counts).toEqual({ passed: 3, failed: 0, skipped: 0, unsteady: 1, failures: [] });
  expect(output).toMatch(
    /UNSTEADY: failed beside others, passed alone:\n.*moody\.test\.js › is late: Error: too late/,
  );
});

it.each([
  ['a test', `it('is wrong', () => { throw new Error('wrong'); });`],
  ['a file that can not be loaded', `throw new Error('wrong');`],
])('counts %s that fails both times as failed', async (_, text) => {
  await write('wrong.test.js', text);
  const { counts, output } = await run();
  expect(counts).toEqual({
    passed: 1,
    failed: 1,
    skipped: 0,
    unsteady: 0,
    failures: [expect.stringMatching(/^.*wrong\.test\.js(?: › is wrong)?: .*wrong/)],
  });
  expect(output).not.toContain('UNSTEADY');
});

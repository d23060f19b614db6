import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { provideToolchain, runWith } from '../support/toolchain';
import { InstalledCli } from './cli/installed-cli';
import { PROJECT, packPackage } from './pack-package';
import { expectSuccess, findPythons, run } from './python-runtime';
import { runProgram, runWell } from './run-program';

const INSTALL_TIMEOUT_MS = 240_000;

const go = provideToolchain('go');
const python = findPythons().find(({ command }) => run(command, ['-c', 'import flask']).status === 0);

let cli: InstalledCli;
beforeAll(async () => {
  cli = await InstalledCli.install();
}, INSTALL_TIMEOUT_MS);
afterAll(() => cli?.remove());

async function init(framework: string): Promise<string> {
  const name = `receiver-${framework}`;
  const result = await cli.run(['init', name, '--framework', framework]);
  expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('README.md') });
  expect(result.stderr).toContain(`cd ${name}`);
  return join(cli.folder, name);
}

it.each(['express', 'fastify'])(
  'hookferry init writes a receiver whose tests pass: %s',
  async (framework) => {
    const folder = await init(framework);
    const packed = await packPackage('receiver');
    try {
      const text = await readFile(join(folder, 'package.json'), 'utf8');
      const project = JSON.parse(text) as { dependencies: Record<string, string> };
      expect(project.dependencies['@hookferry/receiver']).toBe('^0.1.0');
      project.dependencies['@hookferry/receiver'] = packed.tarball;
      await writeFile(join(folder, 'package.json'), JSON.stringify(project));
      await runWell('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], folder);
    } finally {
      await rm(packed.folder, { recursive: true, force: true });
    }
    expect(await runWell('npm', ['test'], folder)).toMatch(/pass 4/);

    // A receiver that verifies nothing does not pass them.
    const app = join(folder, 'app.js');
    const source = await readFile(app, 'utf8');
    await writeFile(app, source.replace(/dedupe: memoryStore\(\),/, ''));
    expect((await runProgram('npm', ['test'], folder)).output).toMatch(/fail 1/);
  },
  INSTALL_TIMEOUT_MS,
);

it(
  'hookferry init from a checkout writes a receiver that installs the package of that checkout',
  async () => {
    const folder = join(cli.folder, 'from-checkout');
    const program = join(PROJECT, 'node_modules/.bin/hookferry');
    await runWell(program, ['init', folder, '--framework', 'express'], cli.folder);
    await runWell('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], folder);
    expect(await runWell('npm', ['test'], folder)).toMatch(/pass 4/);
  },
  INSTALL_TIMEOUT_MS,
);

(python ? describe : describe.skip)('hookferry init, where there is Flask,', () => {
  it('writes a receiver whose tests pass', async () => {
    const folder = await init('flask');
    const environment = { PYTHONPATH: join(PROJECT, 'clients/python/src') };
    const tested = run(python?.command ?? '', ['-m', 'unittest'], { cwd: folder, environment });
    expectSuccess(tested);
    expect(tested.output).toContain('Ran 4 tests');
  });
});

if ('program' in go) {
  describe('hookferry init, where there is Go,', () => {
    it(
      'writes a receiver whose tests pass',
      async () => {
        const folder = await init('go');
        runWith(go.program, ['go', 'vet', './...'], folder);
        expect(runWith(go.program, ['go', 'test', './...'], folder)).toContain('ok');
      },
      INSTALL_TIMEOUT_MS,
    );
  });
} else {
  // oxlint-disable-next-line jest/expect-expect, jest/no-disabled-tests
  it.skip(`hookferry init writes a receiver in Go whose tests pass (skipped: ${go.refusal})`, () =>
    undefined);
}

describe('hookferry init', () => {
  it('replaces no file, and says which is in the way', async () => {
    const folder = join(cli.folder, 'mine');
    await cp(join(PROJECT, 'packages/cli/templates/go/go.mod'), join(folder, 'go.mod'), { recursive: true });
    await writeFile(join(folder, 'main.go'), 'mine');
    const { exitCode, stderr } = await cli.run(['init', 'mine', '--framework', 'go', '--json']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { detail: 'mine has go.mod, main.go already.' } });
    expect(await readFile(join(folder, 'main.go'), 'utf8')).toBe('mine');
    expect(await readdir(folder)).toHaveLength(2);
  });

  it.each([
    [['init', 'x', '--framework', 'rails'], 'express, fastify, flask, go'],
    [['init', 'x'], '--framework'],
    [['init', 'package.json', '--framework', 'go'], 'There is a file of this name'],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await cli.run(args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

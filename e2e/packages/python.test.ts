import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocksOf } from '../docs/read-page';
import { Stack } from '../support/stack';
import { PythonProgram } from './python-program';
import { expectSuccess, findPythons, makeVenv, type Python, pipInstall, run } from './python-runtime';

const ROOT = join(__dirname, '..', '..');
const PACKAGE = join(ROOT, 'clients/python');
const EXAMPLE = join(ROOT, 'examples/python-receiver/main.py');
const MYPY = 'mypy==2.4.0';
const FRAMEWORKS = ['flask>=3', 'django>=4.2', 'fastapi>=0.100'];
const KEYWORD = { keyword: 'red shoes', position: 3, volume: 10 };

const pythons = findPythons();
const [python] = pythons;
const folder = mkdtempSync(join(tmpdir(), 'webhooks-python-'));
// Here, and not before the tests: what can't be installed decides which tests are skipped.
const tools = python === undefined ? undefined : installTools(python);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the Python package', () => {
  for (const each of pythons) {
    it(`passes its own tests under Python ${each.version}`, () => expectTestsPass(each));
  }

  testWith('Python 3.9 or newer', python !== undefined, 'has a Python to be tested with', () => undefined);

  testWith(MYPY, tools?.hasMypy, 'has right types, by mypy --strict', () => {
    expectSuccess(run(tools?.python ?? '', ['-m', 'mypy', '--strict'], { cwd: PACKAGE }));
  });

  testWith('flit_core', tools?.wheel !== undefined, 'carries its types and its licence in the wheel', () => {
    const names = run(tools?.python ?? '', ['-m', 'zipfile', '-l', tools?.wheel ?? '']).output;
    expect(names).toContain('hookferry/py.typed');
    expect(names).toContain('licenses/LICENSE');
    expect(names).not.toContain('tests/');
  });

  testWith(
    'Flask, Django, FastAPI',
    tools?.hasFrameworks,
    'has recipes that hold in the frameworks',
    async () => {
      for (const block of readmeBlocks()) {
        const name = /^from (flask|django|fastapi)\b/m.exec(block)?.[1];
        if (name !== undefined) await writeFile(join(folder, `${name}_recipe.py`), block);
      }
      const { output } = run(tools?.python ?? '', [join(__dirname, 'check_recipes.py'), folder], {
        environment: { PYTHONPATH: join(PACKAGE, 'src') },
      });
      for (const name of ['flask', 'django', 'fastapi']) expect(output).toContain(`${name} 204 401\n`);
    },
  );

  testWith(
    'flit_core',
    tools?.wheel !== undefined,
    'installed from its wheel, registers, receives and answers',
    async () => {
      const installed = installWheel();
      const stack = await Stack.start();
      try {
        await expectExampleWorks(stack, installed);
        await expectReadmeClientWorks(stack, installed);
      } finally {
        await stack.stop();
      }
    },
  );
});

function testWith(what: string, isHere: boolean | undefined, title: string, check: () => unknown): void {
  if (isHere) it(title, async () => void (await check()));
  else {
    console.warn(`SKIPPED: the Python package ${title}, because ${what} can't be had here.`);
    it.skip(`${title} (skipped: ${what} can't be had here)`, () => undefined);
  }
}

function expectTestsPass({ command }: Python): void {
  const ended = run(command, ['-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'], {
    cwd: PACKAGE,
    environment: { PYTHONPATH: 'src' },
  });
  expectSuccess(ended);
  expect(Number(/Ran (\d+) tests/.exec(ended.output)?.[1])).toBeGreaterThan(80);
  expect(ended.output).not.toContain('skipped');
}

function installTools(from: Python) {
  const program = makeVenv(from, join(folder, 'tools'));
  const [, backend = ''] =
    /requires = \["([^"]+)"\]/.exec(readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8')) ?? [];
  return {
    python: program,
    hasMypy: pipInstall(program, [MYPY]),
    hasFrameworks: pipInstall(program, FRAMEWORKS),
    wheel: pipInstall(program, [backend]) ? buildWheel(program) : undefined,
  };
}

function buildWheel(program: string): string {
  const wheels = join(folder, 'wheels');
  mkdirSync(wheels);
  expectSuccess(
    run(program, [
      '-m',
      'pip',
      'wheel',
      '--no-build-isolation',
      '--no-deps',
      '--no-index',
      '-w',
      wheels,
      PACKAGE,
    ]),
  );
  const [wheel, ...others] = readdirSync(wheels);
  if (wheel === undefined || others.length > 0) throw new Error('There is not exactly one wheel.');
  return join(wheels, wheel);
}

/** The Python of an environment that has the wheel, and nothing else. */
function installWheel(): string {
  if (python === undefined || tools?.wheel === undefined) throw new Error('There is no wheel.');
  const program = makeVenv(python, join(folder, 'clean'));
  expectSuccess(run(program, ['-m', 'pip', 'install', '--quiet', '--no-index', tools.wheel]));
  return program;
}

async function expectExampleWorks(stack: Stack, installed: string): Promise<void> {
  const example = new PythonProgram(installed, EXAMPLE, { ...addressOf(stack), PORT: '0' });
  try {
    const webhookId = await example.waitFor(/listening as (\S+)/);
    const keywordId = await stack.client.publish('keyword.quick_win', KEYWORD);
    await example.waitFor(new RegExp(`(${keywordId}): keyword.quick_win about red shoes`));
    const delivery = await stack.client.waitForStatus(webhookId, keywordId, 'delivered');
    expect(delivery.attempts.map(({ outcome }) => outcome)).toEqual(['delivered']);
    expect(await example.stop()).toBe(0);
    expect((await stack.client.request('GET', `/v1/webhooks/${webhookId}`)).status).toBe(404);
  } finally {
    await example.stop();
  }
}

async function expectReadmeClientWorks(stack: Stack, installed: string): Promise<void> {
  const block = readmeBlocks().find((text) => text.includes('client = Client(')) ?? '';
  const path = join(folder, 'use_client.py');
  await writeFile(path, block);
  const { status, output } = run(installed, [path], { environment: addressOf(stack) });
  expect({ status, output }).toEqual({
    status: 0,
    output: expect.stringMatching(/WEBHOOK_SECRET = whsec_.*\n/),
  });
  expect(output).toContain('404 not_found');
}

function addressOf(stack: Stack): Record<string, string> {
  return { HOOKFERRY_URL: stack.client.baseUrl, HOOKFERRY_API_KEY: stack.bootstrapKey };
}

function readmeBlocks(): readonly string[] {
  return blocksOf(readFileSync(join(PACKAGE, 'README.md'), 'utf8'), 'python');
}

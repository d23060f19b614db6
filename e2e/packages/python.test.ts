import { mkdtempSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocksOf } from '../docs/read-page';
import { addTypes } from '../support/samples';
import { Stack } from '../support/stack';
import { expectSuccess, findPythons, type Python, run } from './python-runtime';
import { installTools, installWheel, MYPY, PACKAGE, type PythonTools } from './python-tools';
import { RunningProgram } from './running-program';

const EXAMPLE = join(__dirname, '..', '..', 'examples/python-receiver/main.py');
const FRAMEWORKS = ['flask', 'django', 'fastapi'];
const ORDER = { id: 'ord_4711', total: 99.5 };

const pythons = findPythons();
const [python] = pythons;
const folder = mkdtempSync(join(tmpdir(), 'webhooks-python-'));
// Here, and not before the tests: what can't be installed decides which of them are skipped.
const tools = python && installTools(python, folder);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the Python package', () => {
  for (const each of pythons) {
    itWith([each], 'a Python', `passes its own tests under Python ${each.version}`, expectTestsPass);
  }
  if (!python) itWith([python], 'Python 3.9 or newer', 'passes its own tests', expectTestsPass);
  itWith([tools, tools?.hasMypy], MYPY, 'has right types, by mypy --strict', expectRightTypes);
  itWith([tools], 'a Python', 'has its types and licence in the wheel', expectWholeWheel);
  itWith(
    [tools, tools?.hasFrameworks],
    'Flask, Django or FastAPI',
    'has recipes that hold in the frameworks',
    expectRecipesHold,
  );
  itWith(
    [tools],
    'a Python',
    'registers, receives and responds, installed from its wheel',
    expectInstalledWorks,
  );
});

/** A test that is skipped, and says so, where one of its `needs` can't be had. It gets the first of them. */
function itWith<Need>(
  [need, ...others]: readonly [Need | undefined, ...unknown[]],
  what: string,
  title: string,
  check: (need: Need) => void | Promise<void>,
): void {
  const isHere = need !== undefined && others.every(Boolean);
  if (!isHere) console.warn(`SKIPPED: the Python package ${title}, because ${what} can't be had here.`);
  const test = isHere ? it : it.skip;
  test(isHere ? title : `${title} (skipped: ${what} can't be had here)`, async () => {
    if (need !== undefined) await check(need);
  });
}

function expectTestsPass({ command, version }: Python): void {
  if (run(command, ['-c', 'import cryptography']).status !== 0) {
    console.warn(`SKIPPED: signatures by keys under Python ${version}, because it has no cryptography.`);
  }
  const ended = run(command, ['-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'], {
    cwd: PACKAGE,
    environment: { PYTHONPATH: 'src' },
  });
  expectSuccess(ended);
  expect(Number(/Ran (\d+) tests/.exec(ended.output)?.[1])).toBeGreaterThan(80);
  expect(ended.output).not.toContain('skipped');
}

function expectRightTypes({ python: program }: PythonTools): void {
  const options = ['--strict', '--cache-dir', join(folder, 'mypy')];
  expectSuccess(run(program, ['-m', 'mypy', ...options], { cwd: PACKAGE }));
}

function expectWholeWheel({ python: program, wheel }: PythonTools): void {
  const { output } = run(program, ['-m', 'zipfile', '-l', wheel]);
  expect(output).toContain('hookferry/py.typed');
  expect(output).toContain('licenses/LICENSE');
  expect(output).not.toContain('tests/');
}

/** A good request gets 204 of each, a forged one 401. */
async function expectRecipesHold({ python: program }: PythonTools): Promise<void> {
  for (const block of readmeBlocks()) {
    const name = /^from (flask|django|fastapi)\b/m.exec(block)?.[1];
    if (name !== undefined) await writeFile(join(folder, `${name}_recipe.py`), block);
  }
  const { output } = run(program, [join(__dirname, 'check_recipes.py'), folder], {
    environment: { PYTHONPATH: join(PACKAGE, 'src') },
  });
  for (const name of FRAMEWORKS) expect(output).toContain(`${name} 204 401\n`);
}

async function expectInstalledWorks(from: PythonTools): Promise<void> {
  if (python === undefined) throw new Error('There is no Python.');
  const installed = installWheel(python, from, folder);
  const stack = await Stack.start();
  await addTypes(stack.client);
  try {
    await expectExampleWorks(stack, installed);
    await expectReadmeClientWorks(stack, installed);
  } finally {
    await stack.stop();
  }
}

async function expectExampleWorks(stack: Stack, installed: string): Promise<void> {
  const example = new RunningProgram([installed, EXAMPLE], { ...addressOf(stack), PORT: '0' });
  try {
    const webhookId = await example.waitFor(/listening as (\S+)/);
    const orderId = await stack.client.publish('order.created', ORDER);
    await example.waitFor(new RegExp(`(${orderId}): order.created about ord_4711`));
    const delivery = await stack.client.waitForStatus(webhookId, orderId, 'delivered');
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
    output: expect.stringMatching(/^WEBHOOK_SECRET = whsec_/),
  });
  expect(output).toMatch(/^would send \{"text":"order\.created: .+"\}$/m);
  expect(output).toContain('404 not_found');
}

function addressOf(stack: Stack): Record<string, string> {
  return { HOOKFERRY_URL: stack.client.baseUrl, HOOKFERRY_API_KEY: stack.bootstrapKey };
}

function readmeBlocks(): readonly string[] {
  return blocksOf(readFileSync(join(PACKAGE, 'README.md'), 'utf8'), 'python');
}

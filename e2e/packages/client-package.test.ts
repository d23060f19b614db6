import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiServer } from '../../packages/client/src/testing/api-server';
import { PRINTED_BY_CONSUMER, serveConsumer } from './client-consumer/serve-consumer';
import { type ConsumerProject, STRICT_COMPILER } from './consumer-project';
import { installClient } from './install-client';
import { PROJECT, programOf } from './pack-package';
import { runProgram, runWell } from './run-program';

const NODE = { lib: ['es2022'], types: ['node'], typeRoots: [join(PROJECT, 'node_modules/@types')] };

let project: ConsumerProject;
let server: ApiServer;
beforeAll(async () => {
  project = await installClient();
  for (const name of ['consumer.mts', 'consumer.cts', 'browser.mts']) {
    await project.write(name, await readFile(join(__dirname, 'client-consumer', name), 'utf8'));
  }
  await project.write('readme.mts', (await readExamples()).join(''));
  server = await serveConsumer();
});
afterAll(async () => {
  await server.stop();
  await project.remove();
});

/** The TypeScript of the README, of which each piece goes on where the one before ended. */
async function readExamples(): Promise<string[]> {
  const page = await readFile(join(PROJECT, 'packages/client/README.md'), 'utf8');
  return [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code);
}

/** @returns what the compiler says: nothing if all is well */
async function compile(include: readonly string[], options: object): Promise<string> {
  await project.write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...STRICT_COMPILER, ...options }, include }),
  );
  return (await project.run(programOf('tsc'), '-p', '.')).output;
}

it('the package type-checks in strict programs for Node.js, imported and required', async () => {
  expect(await compile(['consumer.mts', 'consumer.cts'], NODE)).toBe('');
});

it('what the README shows type-checks', async () => {
  expect(await readExamples()).not.toHaveLength(0);
  expect(await compile(['readme.mts'], NODE)).toBe('');
});

it('the package type-checks in a strict program for browsers', async () => {
  const options = { lib: ['es2022', 'dom'], types: [], module: 'esnext', moduleResolution: 'bundler' };
  expect(await compile(['browser.mts'], { ...options, noEmit: true })).toBe('');
});

it.each(['consumer.mjs', 'consumer.cjs'])('the package runs from %s', async (name) => {
  const printed = await runWell(process.execPath, [name, server.baseUrl], project.folder);
  expect(JSON.parse(printed)).toEqual(PRINTED_BY_CONSUMER);
});

it('nothing in the package is of Node.js alone', async () => {
  const installed = join(project.folder, 'node_modules/@hookferry/client/dist');
  const words = 'node:|Buffer|process\\.\\w|require\\("[a-z]*"\\)';
  expect(await runWell('grep', ['-rl', 'exports.createClient', installed], '/')).toContain('client.js');
  expect(await runProgram('grep', ['-rnE', words, installed], '/')).toEqual({ code: 1, output: '' });
});

it('publint and attw find nothing in it', async () => {
  const folder = join(PROJECT, 'packages/client');
  expect(await runWell(programOf('publint'), ['--strict'], folder)).toContain('All good!');
  expect(await runWell(programOf('attw'), ['--pack', '.', '--no-color'], folder)).toContain(
    'No problems found',
  );
});

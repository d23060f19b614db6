import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiServer, json, lines, problem, type Reply } from '../../packages/client/src/testing/api-server';
import { installClient } from './install-client';
import { makeFolder } from './pack-package';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');
const PACKAGE = join(ROOT, 'packages/client');
const program = (name: string) => join(ROOT, 'node_modules/.bin', name);

/** For a stranger's strict program, that also reads what the packages declare. */
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: 'es2022',
  module: 'nodenext',
};

const LINE = `${JSON.stringify({ cursor: 'c', attempt: { outcome: 'delivered' } })}\n`;
const PAGE = { data: [{ id: 'wh_1' }], next_cursor: null, has_more: false };

const answer: Reply = (response, request) => {
  if (request.method === 'DELETE') problem(404, 'not_found')(response, request);
  else if (request.url.includes('export')) lines(LINE)(response, request);
  else if (request.url === '/v1/webhooks') json(200, PAGE)(response, request);
  else json(200, { url: 'https://example.com/hook' })(response, request);
};

let folder: Awaited<ReturnType<typeof makeFolder>>;
let server: ApiServer;
beforeAll(async () => {
  folder = await makeFolder();
  await installClient(folder.path);
  await cp(join(__dirname, 'client-consumer'), folder.path, { recursive: true });
  server = await ApiServer.start(answer);
});
afterAll(async () => {
  await server.stop();
  await folder.remove();
});

/** @returns what the compiler says: nothing if all is well */
async function compile(include: readonly string[], options: object): Promise<string> {
  const config = JSON.stringify({ compilerOptions: { ...STRICT, ...options }, include });
  await writeFile(join(folder.path, 'tsconfig.json'), config);
  const { stdout } = await run(program('tsc'), ['-p', folder.path]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

it('the package type-checks in strict programs for Node.js, imported and required', async () => {
  const options = { lib: ['es2022'], types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] };
  expect(await compile(['consumer.mts', 'consumer.cts'], options)).toBe('');
});

it('the package type-checks in a strict program for browsers', async () => {
  const options = { lib: ['es2022', 'dom'], types: [], module: 'esnext', moduleResolution: 'bundler' };
  expect(await compile(['browser.mts'], { ...options, noEmit: true })).toBe('');
});

it.each(['consumer.mjs', 'consumer.cjs'])('the package runs from %s', async (name) => {
  const { stdout } = await run(process.execPath, [join(folder.path, name), server.baseUrl]);
  expect(JSON.parse(stdout)).toEqual({
    url: 'https://example.com/hook',
    ids: ['wh_1'],
    outcomes: ['delivered'],
    code: 'not_found',
  });
});

it('nothing in the package is of Node.js alone', async () => {
  const installed = join(folder.path, 'node_modules/@hookferry/client');
  const { stdout } = await run(
    'grep',
    ['-rlE', 'node:|require\\("(fs|http|crypto)|Buffer|process\\.', installed],
    {
      cwd: folder.path,
    },
  ).catch((error: unknown) => error as { stdout: string });
  expect(stdout).toBe('');
  expect(await readFile(join(installed, 'dist/index.js'), 'utf8')).toContain('createClient');
});

it('publint and attw find nothing in it', async () => {
  expect((await run(program('publint'), ['--strict'], { cwd: PACKAGE })).stdout).toContain('All good!');
  const { stdout } = await run(program('attw'), ['--pack', '.', '--no-color'], { cwd: PACKAGE });
  expect(stdout).toContain('No problems found');
});

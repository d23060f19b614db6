import { type ChildProcess, spawn } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { signMessage } from '@hookferry/core/deliver/prepare-request';
import { build } from 'esbuild';
import { blocksOf } from '../docs/read-page';
import { ConsumerProject, STRICT_COMPILER } from './consumer-project';
import { type PackedPackage, PROJECT, packPackage, programOf } from './pack-package';
import { runWell } from './run-program';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"type":"order.created","data":{"id":"Über uns 🚀"}}';
const ENTRIES = ['index', 'express', 'fastify', 'koa', 'fetch', 'lambda', 'public-keys', 'redis'];
const FIXTURES = join(__dirname, 'receiver');
const EXAMPLE = join(PROJECT, 'examples/receiver-express');
const README = join(PROJECT, 'packages/receiver/README.md');
// What the README's programs and ours import besides.
const SURROUNDINGS = ['@types/express', '@types/koa', '@types/node', 'fastify', 'koa', 'ioredis'];
// Each of them is on npm as a program that runs at once.
const RUNTIMES = { bun: '1.4.5', deno: '2.9.6', workerd: '1.20261117.1' };

let packed: PackedPackage;
let consumer: ConsumerProject;

beforeAll(async () => {
  packed = await packPackage('receiver');
  const { dependencies } = await readJson(join(EXAMPLE, 'package.json'));
  consumer = await ConsumerProject.install({
    ...dependencies,
    ...(await installedVersions(SURROUNDINGS)),
    '@hookferry/receiver': packed.tarball,
  });
});
afterAll(async () => {
  await consumer?.remove();
  await rm(packed.folder, { recursive: true, force: true });
});

describe('the packed receiver', () => {
  it('holds what is compiled and what says what it is, and nothing else', () => {
    const modules = ENTRIES.flatMap((entry) => [`${entry}.mjs`, `${entry}.d.mts`]);
    const rest = packed.files.filter((file) => !/^dist\/[a-z-]+\.(js|d\.ts)$/.test(file));
    expect(rest).toEqual(['LICENSE', 'README.md', 'package.json', ...modules].sort());
    expect(packed.files).toEqual(
      expect.arrayContaining(ENTRIES.flatMap((entry) => [`dist/${entry}.js`, `dist/${entry}.d.ts`])),
    );
  });

  it('depends on nothing', async () => {
    const manifest = await readJson(join(consumer.folder, 'node_modules/@hookferry/receiver/package.json'));
    expect(manifest.dependencies).toBeUndefined();
  });

  it.each([
    ['publint', ['run', '--strict'], 'All good!'],
    ['attw', ['--no-emoji', '--no-color'], 'No problems found'],
  ])('is fine by %s', async (program, options, verdict) => {
    const output = await runWell(programOf(program), [...options, packed.tarball], packed.folder);
    expect(output).toContain(verdict);
  });

  it('type-checks strictly as ES module, as CommonJS, and in each program of its README', async () => {
    const programs = blocksOf(await readFile(README, 'utf8'), 'ts');
    expect(programs.length).toBeGreaterThan(8);
    await Promise.all(programs.map((text, index) => consumer.write(`readme-${index}.mts`, text)));
    await cp(FIXTURES, consumer.folder, { recursive: true });
    await consumer.write('tsconfig.json', JSON.stringify(PROGRAMS));
    const { output } = await consumer.run(programOf('tsc'), '-p', '.');
    // What others declare is theirs.
    const faults = output.split('\n').filter((line) => /^(?!node_modules\/(?!@hookferry))./.test(line));
    expect(faults).toEqual([]);
    expect(await consumer.run(process.execPath, 'out/program.mjs')).toMatchObject({
      output: 'import: missing_secret\n',
    });
    expect(await consumer.run(process.execPath, 'out/program.cjs')).toMatchObject({
      output: 'require: not_a_secret, function, function\n',
    });
  });
});

it('is all that the example needs to receive webhooks over HTTP', async () => {
  await cp(join(EXAMPLE, 'server.js'), join(consumer.folder, 'server.mjs'));
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: '0' };
  const server = spawn(process.execPath, ['server.mjs'], { cwd: consumer.folder, env });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const nextLine = async () => String((await lines.next()).value);
    const [url = ''] = /http:\S+/.exec(await nextLine()) ?? [];
    const post = async (headers: Record<string, string>, body = BODY) =>
      (await fetch(url, { method: 'POST', headers, body })).status;

    expect(await post(signed('evt_1'))).toBe(204);
    expect(await nextLine()).toBe('an order: Über uns 🚀');
    expect(await post(signed('evt_1'))).toBe(204);
    expect(await post(signed('evt_2'), `${BODY} `)).toBe(401);
    const empty = BODY.replace('Über uns 🚀', '');
    expect(await post(signed('evt_3', empty), empty)).toBe(422);
    const other = '{"type":"other.type","data":{}}';
    expect(await post(signed('evt_4', other), other)).toBe(204);
    // So the duplicate of the first has printed nothing.
    expect(await nextLine()).toBe('nothing to do for other.type');
    const echo = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' };
    expect(await (await fetch(new URL('/echo', url), echo)).json()).toEqual({ a: 1 });
  } finally {
    await end(server);
  }
});

describe('other runtimes', () => {
  let runtimes: ConsumerProject | undefined;
  let missing: string | undefined;
  beforeAll(async () => {
    runtimes = await ConsumerProject.install({ ...RUNTIMES, '@hookferry/receiver': packed.tarball }).catch(
      (error: unknown) => {
        missing = String(error);
        return undefined;
      },
    );
    await runtimes?.write('signed.json', JSON.stringify(whatIsSigned()));
    if (runtimes) await cp(FIXTURES, runtimes.folder, { recursive: true });
  });
  afterAll(() => runtimes?.remove());

  /** Says loudly where a runtime can't be had, which is not the package's fault. */
  async function tryOn(name: string, run: (project: ConsumerProject, program: string) => Promise<void>) {
    const program = join(runtimes?.folder ?? '', 'node_modules/.bin', name);
    const probe = await runtimes?.run(program, '--version').catch(() => undefined);
    if (runtimes === undefined || probe?.code !== 0) {
      console.warn(`SKIPPED: the receiver on ${name}, which can't be had or run here. ${missing ?? ''}`);
      return;
    }
    await run(runtimes, program);
  }

  const environment = () => `SIGNED=${JSON.stringify(whatIsSigned())}`;

  it.each([
    ['bun', ['run', 'runtime.mjs']],
    ['deno', ['run', '--allow-env', 'runtime.mjs']],
  ])('run it: %s', async (name, parameters) => {
    await tryOn(name, async (project, program) => {
      const result = await project.run('env', environment(), program, ...parameters);
      expect(result).toMatchObject({ code: 0, output: expect.stringContaining('verified here') });
    });
  });

  it('run it: workerd', async () => {
    await tryOn('workerd', async (project, program) => {
      const { folder } = project;
      await build({
        entryPoints: [join(folder, 'worker.mjs')],
        outfile: join(folder, 'bundle.mjs'),
        bundle: true,
        format: 'esm',
        platform: 'browser',
      });
      const result = await project.run(program, 'test', 'worker.capnp');
      expect(result).toMatchObject({ code: 0, output: expect.stringContaining('PASS') });
    });
  });
});

const PROGRAMS = {
  compilerOptions: {
    ...STRICT_COMPILER,
    lib: ['es2023'],
    types: ['node'],
    outDir: 'out',
  },
  include: ['*.mts', '*.cts'],
};

function signed(id: string, body = BODY): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage([SECRET], { id, timestamp, body }),
  };
}

/** By the secret and by a key. */
function whatIsSigned() {
  const headers = signed('evt_1');
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const message = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${BODY}`;
  const byKey = `v1a,${sign(null, Buffer.from(message), privateKey).toString('base64')}`;
  return {
    secret: SECRET,
    publicKey: `whpk_${Buffer.from(x, 'base64url').toString('base64')}`,
    headers: { ...headers, 'webhook-signature': `${headers['webhook-signature']} ${byKey}` },
    body: BODY,
  };
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function readJson(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(path, 'utf8')) as Manifest;
}

/** The versions that this project has, so that npm has them in its cache. */
async function installedVersions(names: readonly string[]): Promise<Record<string, string>> {
  const read = async (name: string) => {
    const { version = '' } = await readJson(join(PROJECT, 'node_modules', name, 'package.json'));
    return [name, version] as const;
  };
  return Object.fromEntries(await Promise.all(names.map(read)));
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

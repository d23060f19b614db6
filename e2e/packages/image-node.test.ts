import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { signMessage } from '@hookferry/core/deliver/prepare-request';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { build } from 'esbuild';
import { askTool } from './ask-tool';
import { PRINTED_BY_CONSUMER, serveConsumer } from './client-consumer/serve-consumer';
import { ConsumerProject } from './consumer-project';
import { packPackage } from './pack-package';
import type { ProgramResult } from './run-program';

const PACKAGES = ['client', 'receiver', 'producer', 'cli'];
const PROGRAMS = ['receiver/program', 'producer/program', 'client-consumer/consumer'];
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"type":"brief.created","data":{"title":"Über uns 🚀"}}';

/** All packages as a stranger installs them, with the programs of their own tests, compiled. */
async function installAll(): Promise<ConsumerProject> {
  const tarballs: Record<string, string> = {};
  const folders: string[] = [];
  // One after the other: they build what they share.
  for (const name of PACKAGES) {
    const { folder, tarball } = await packPackage(name);
    folders.push(folder);
    tarballs[`@hookferry/${name}`] = tarball;
  }
  const consumer = await ConsumerProject.install(tarballs);
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  for (const [from, to, format] of [
    ['mts', 'mjs', 'esm'],
    ['cts', 'cjs', 'cjs'],
  ] as const) {
    for (const program of PROGRAMS) {
      await build({
        entryPoints: [join(__dirname, `${program}.${from}`)],
        outfile: join(consumer.folder, `${program}.${to}`),
        format,
      });
    }
  }
  return consumer;
}

function signedRequest(): string {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = signMessage([SECRET], { id: 'evt_1', timestamp, body: BODY });
  const head = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${lines.join('')}\r\n${BODY}`;
}

type Run = (...parameters: readonly string[]) => Promise<ProgramResult>;

async function runReceiverAndProducer(run: Run): Promise<readonly string[]> {
  const outputs: string[] = [];
  for (const name of ['receiver', 'producer']) {
    for (const kind of ['mjs', 'cjs']) outputs.push((await run(`${name}/program.${kind}`)).output);
  }
  return outputs;
}

async function runClient(run: Run): Promise<readonly unknown[]> {
  const server = await serveConsumer();
  const printed: unknown[] = [];
  try {
    for (const kind of ['mjs', 'cjs']) {
      const { output } = await run(`client-consumer/consumer.${kind}`, server.baseUrl);
      printed.push(JSON.parse(output));
    }
    return printed;
  } finally {
    await server.stop();
  }
}

async function verifyByCommandLine(consumer: ConsumerProject, node: string): Promise<ProgramResult> {
  await consumer.write('request.http', signedRequest());
  await consumer.write('secret', SECRET);
  const verify = 'node_modules/.bin/hookferry verify --delivery request.http --secret-stdin --json < secret';
  return await consumer.run('sh', '-c', `"${node}" ${verify}`);
}

// Four packages are packed and installed: on a busy machine that takes longer than a test may.
const INSTALL_TIMEOUT_MS = 240_000;

// Each package has tests under the Node.js that runs this; here they meet the newer one, which the images have.
it(
  'the packages work on the Node.js of the images as well',
  async () => {
    const call = 'provideImageNode(new AbortController().signal)';
    const node = await askTool<string>('tools/test/image-node.mjs', call);
    if (node === undefined) {
      process.stderr.write(
        'SKIPPED: the packages on the Node.js of the images: this is it, or none is to be had.\n',
      );
      return;
    }
    const consumer = await installAll();
    const redis = await openTestRedis();
    try {
      const run: Run = (...parameters) => consumer.run('env', `REDIS_URL=${redis.url}`, node, ...parameters);
      expect(await runReceiverAndProducer(run)).toEqual([
        'import: missing_secret\n',
        'require: not_a_secret, function, function\n',
        'import: from-import, closed\n',
        'require: published\n',
      ]);
      expect(await runClient(run)).toEqual([PRINTED_BY_CONSUMER, PRINTED_BY_CONSUMER]);
      expect(await verifyByCommandLine(consumer, node)).toEqual({
        code: 0,
        output: expect.stringMatching(/"is_genuine": ?true/),
      });
    } finally {
      await redis.close();
      await consumer.remove();
    }
  },
  INSTALL_TIMEOUT_MS,
);

import { access, cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { Queue } from 'bullmq';
import { blocksOf } from '../docs/read-page';
import { Receiver } from '../support/receiver';
import { addTypes } from '../support/samples';
import { Stack } from '../support/stack';
import { ConsumerProject, STRICT_COMPILER } from './consumer-project';
import { type PackedPackage, PROJECT, packPackage, programOf } from './pack-package';
import { runWell } from './run-program';

const EXAMPLE = join(PROJECT, 'examples/producer/index.mjs');
const README = join(PROJECT, 'packages/producer/README.md');
// What a block of the README takes for given.
const GIVEN = `import { createEventPublisher } from '@hookferry/producer';
import type { EventInput, EventPublisher } from '@hookferry/producer';
interface Events { 'order.created': { id: string; total: number } }
declare const events: EventInput<Events>[];
`;

let packed: PackedPackage;
let consumer: ConsumerProject;
let redis: TestRedis;

beforeAll(async () => {
  packed = await packPackage('producer');
  redis = await openTestRedis();
  const { version } = JSON.parse(
    await readFile(join(PROJECT, 'node_modules/@types/node/package.json'), 'utf8'),
  ) as { readonly version: string };
  consumer = await ConsumerProject.install({ '@types/node': version, '@hookferry/producer': packed.tarball });
});
afterAll(async () => {
  await redis.close();
  await consumer?.remove();
  await rm(packed.folder, { recursive: true, force: true });
});

describe('the packed producer', () => {
  it('depends on BullMQ and ioredis alone, and holds nothing of the service', async () => {
    const manifest = join(consumer.folder, 'node_modules/@hookferry/producer/package.json');
    const { dependencies } = JSON.parse(await readFile(manifest, 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    expect(Object.keys(dependencies)).toEqual(['bullmq', 'ioredis']);
    // Who has the events checked brings what checks them.
    await expect(access(join(consumer.folder, 'node_modules/ajv'))).rejects.toThrow('ENOENT');
    expect(packed.files.filter((file) => /test|src\//.test(file))).toEqual([]);
  });

  it('checks events where ajv is installed, and only then', async () => {
    const program = "console.log(typeof require('@hookferry/producer/schemas').createSchemaCheck)";
    const run = (...settings: readonly string[]) =>
      consumer.run('env', ...settings, process.execPath, '-e', program);
    expect((await run()).output).toContain("Cannot find module 'ajv/dist/2020'");
    const withAjv = `NODE_PATH=${join(PROJECT, 'node_modules')}`;
    expect(await run(withAjv)).toEqual({ code: 0, output: 'function\n' });
  });

  it.each([
    ['publint', ['run', '--strict']],
    ['attw', ['--no-emoji', '--no-color']],
  ])('is fine by %s', async (program, options) => {
    const run = runWell(programOf(program), [...options, packed.tarball], packed.folder);
    await expect(run).resolves.toEqual(expect.any(String));
  });

  it('type-checks strictly and runs as ES module and as CommonJS; so does each block of its README', async () => {
    const blocks = blocksOf(await readFile(README, 'utf8'), 'ts');
    expect(blocks.length).toBeGreaterThan(2);
    for (const [index, block] of blocks.entries()) {
      const given = /^import/m.test(block) ? '' : GIVEN;
      const publisher = /const publisher/.test(block)
        ? ''
        : 'declare const publisher: EventPublisher<Events>;\n';
      await consumer.write(
        `readme-${index}.mts`,
        `${given}${given === '' ? '' : publisher}${block}\nexport {};\n`,
      );
    }
    await cp(join(__dirname, 'producer'), consumer.folder, { recursive: true });
    await consumer.write('tsconfig.json', JSON.stringify(PROGRAMS));
    expect(await consumer.run(programOf('tsc'), '-p', '.')).toEqual({ code: 0, output: '' });
    const run = (program: string) =>
      consumer.run('env', `REDIS_URL=${redis.url}`, process.execPath, `out/${program}`);
    expect(await run('program.mjs')).toEqual({ code: 0, output: 'import: from-import, closed\n' });
    expect(await run('program.cjs')).toEqual({ code: 0, output: 'require: published\n' });
    const queue = new Queue('events', { connection: redis.client });
    expect(await queue.getWaitingCount()).toBe(3);
    await queue.close();
  });
});

it('is all that the example needs to publish to the service, once however often it runs', async () => {
  const stack = await Stack.start();
  const receiver = await Receiver.start();
  await addTypes(stack.client);
  await stack.client.register(receiver.url, ['*']);
  await cp(EXAMPLE, join(consumer.folder, 'example.mjs'));
  const run = () => consumer.run('env', `REDIS_URL=${stack.redis.url}`, process.execPath, 'example.mjs');
  const output = 'published created-ord_4711\npublished created-ord_4712\npublished paid-ord_4711\n';
  expect(await run()).toEqual({ code: 0, output });
  await receiver.waitFor(3);
  expect(await run()).toEqual({ code: 0, output });
  const last = await stack.client.publish('order.created', { id: 'last' });
  await receiver.waitFor(4);
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(
    expect.arrayContaining(['created-ord_4711', 'created-ord_4712', 'paid-ord_4711', last]),
  );
  await receiver.stop();
  await stack.stop();
});

const PROGRAMS = {
  compilerOptions: {
    ...STRICT_COMPILER,
    // BullMQ's own declarations are not checked; ours are, where they are used.
    skipLibCheck: true,
    lib: ['es2023'],
    types: ['node'],
    outDir: 'out',
  },
  include: ['*.mts', '*.cts'],
};

/**
 * The benchmarks, by their names; `tools/bench.mjs` says which options there are. BENCH_REDIS_URL names a Redis of their
 * own, which they empty.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBurstSuite } from './burst/index';
import { runDrainSuite } from './drain/index';
import { runScaleSuite } from './drain/scale';
import { runHistorySuite } from './history/index';
import { runPathSuite } from './path/index';
import { runPortalSuite } from './portal/index';
import { runScrapeSuite } from './scrape';
import { runShapesSuite } from './shapes/index';
import { runTenantsSuite } from './tenants/index';

const suites = {
  path: runPathSuite,
  drain: runDrainSuite,
  burst: runBurstSuite,
  tenants: runTenantsSuite,
  scale: runScaleSuite,
  shapes: runShapesSuite,
  history: runHistorySuite,
  scrape: runScrapeSuite,
  portal: runPortalSuite,
};

// Those that can measure another checkout's build, and write their figures down.
const blackBoxes = ['path', 'drain', 'burst', 'tenants', 'scale', 'shapes', 'history'];
const THIS_REPOSITORY = join(__dirname, '../..');

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      deliveries: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      shards: { type: 'string' },
      scene: { type: 'string' },
      build: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'string' },
      'receiver-ms': { type: 'string' },
      webhooks: { type: 'string' },
      busy: { type: 'string' },
      receivers: { type: 'boolean', default: false },
      scenes: { type: 'string' },
      commands: { type: 'boolean', default: false },
      'idempotency-keys': { type: 'boolean', default: false },
      'kill-worker': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const redisUrl = process.env.BENCH_REDIS_URL;
  if (redisUrl === undefined)
    throw new Error('BENCH_REDIS_URL is not set. Run "npm run bench", which starts a Redis.');
  const wished = positionals.length === 0 ? Object.keys(suites) : positionals;
  const isForOne = values.build !== undefined || values.json !== undefined;
  if (isForOne && (wished.length !== 1 || !blackBoxes.includes(wished[0] ?? '')))
    throw new Error(`--build and --json are for one benchmark at a time, of: ${blackBoxes.join(', ')}.`);
  const deliveries = Number(values.deliveries ?? 0);
  const rounds = Number(values.rounds ?? 0);
  const seconds = Number(values.seconds ?? 0);
  const shards = Number(values.shards ?? 0);
  for (const name of wished) {
    const run = Object.entries(suites).find(([suite]) => suite === name)?.[1];
    if (!run)
      throw new Error(
        `There is no benchmark "${name}". The benchmarks are: ${Object.keys(suites).join(', ')}.`,
      );
    process.stderr.write(`${name}\n`);
    await run({
      redisUrl,
      short: values.short,
      build: values.build === undefined ? THIS_REPOSITORY : resolve(values.build),
      ...(deliveries > 0 ? { deliveries } : {}),
      ...(rounds > 0 ? { rounds } : {}),
      ...(seconds > 0 ? { seconds } : {}),
      ...(shards > 0 ? { shards } : {}),
      ...(values.scene === undefined ? {} : { scene: values.scene }),
      ...(values.json === undefined ? {} : { json: resolve(values.json) }),
      ...(values['receiver-ms'] === undefined ? {} : { receiverMs: numbersOf(values['receiver-ms']) }),
      ...(values.webhooks === undefined ? {} : { webhooks: numbersOf(values.webhooks) }),
      ...(values.busy === undefined ? {} : { busy: numbersOf(values.busy) }),
      receivers: values.receivers,
      commands: values.commands,
      ...(values.scenes === undefined ? {} : { scenes: values.scenes.split(',') }),
      idempotencyKeys: values['idempotency-keys'],
      killWorker: values['kill-worker'],
      ...(values.profile === undefined ? {} : { profile: resolve(values.profile) }),
    });
  }
}

function numbersOf(list: string): readonly number[] {
  const numbers = list.split(',').map(Number);
  if (!numbers.every((each) => Number.isInteger(each) && each >= 0))
    throw new Error(`"${list}" is not a list of whole numbers.`);
  return numbers;
}

// What it has started ends with it: see those that listen for its exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

/** The benchmarks, by their names. BENCH_REDIS_URL names a Redis of their own, which they empty: `npm run bench` starts one. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runBurstSuite } from './burst/index';
import { runDrainSuite } from './drain/index';
import { runHistorySuite } from './history/index';
import { runPathSuite } from './path/index';
import { runTenantsSuite } from './tenants/index';

const suites = new Map([
  ['path', runPathSuite],
  ['drain', runDrainSuite],
  ['burst', runBurstSuite],
  ['tenants', runTenantsSuite],
  ['history', runHistorySuite],
]);

const USAGE = `Usage: npm run bench [-- NAME …] [options]

All benchmarks, or those that are named: ${[...suites.keys()].join(', ')}.

  --short             a short run, whose figures are only rough
  --rounds N          how often each measurement is repeated
  --deliveries N      how many deliveries are loaded, or events published
  --scene NAME        one scene alone, of burst and tenants.
                      drain: workers, shards, pending or endpoints grow, or each of them: all
                      history: pages, replay or path
  --seconds N         tenants: how long an attack lasts
  --shards N          burst: the number of shards of the queues
  --json FILE         also writes the figures of one benchmark to a file
  --build DIR         measures the build of another checkout
  --node FILE,…       runs everything with each of these Node programs, one after the other

Of path:

  --scenes NAME,…     further cases, beside the plain one: retry, bodies, rate-limited, strict, filtered, own-types, pushed,
                      batch, transformed, batched, groups, fan-out; or all
  --receivers         slow receivers: all scenes that have aims
  --receiver-ms N,…   how long receivers take; with --webhooks and --busy each combination is a scene
  --webhooks N,…      how many webhooks the events are spread over
  --busy N,…          how many other processes use all the processor time that they get
  --idempotency-keys  sends an Idempotency-Key with each request to Hookferry
  --profile DIR       writes CPU profiles, instead of measuring`;

const THIS_REPOSITORY = join(__dirname, '../..');

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      deliveries: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      shards: { type: 'string' },
      scene: { type: 'string' },
      build: { type: 'string', default: THIS_REPOSITORY },
      json: { type: 'string' },
      profile: { type: 'string' },
      'receiver-ms': { type: 'string' },
      webhooks: { type: 'string' },
      busy: { type: 'string' },
      receivers: { type: 'boolean', default: false },
      scenes: { type: 'string' },
      'idempotency-keys': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return void process.stdout.write(`${USAGE}\n`);
  const { BENCH_REDIS_URL: redisUrl } = process.env;
  if (redisUrl === undefined)
    throw new Error('BENCH_REDIS_URL is not set. Run "npm run bench", which starts a Redis.');
  const wished = positionals.length === 0 ? [...suites.keys()] : positionals;
  if (values.json !== undefined && wished.length !== 1)
    throw new Error('--json is for one benchmark at a time.');
  for (const name of wished) {
    const run = suites.get(name);
    if (!run)
      throw new Error(
        `There is no benchmark "${name}". The benchmarks are: ${[...suites.keys()].join(', ')}.`,
      );
    process.stderr.write(`${name}\n`);
    await run({
      redisUrl,
      short: values.short,
      build: resolve(values.build),
      receivers: values.receivers,
      idempotencyKeys: values['idempotency-keys'],
      ...given('deliveries', values.deliveries, Number),
      ...given('rounds', values.rounds, Number),
      ...given('seconds', values.seconds, Number),
      ...given('shards', values.shards, Number),
      ...given('scene', values.scene, String),
      ...given('json', values.json, resolve),
      ...given('profile', values.profile, resolve),
      ...given('receiverMs', values['receiver-ms'], numbersOf),
      ...given('webhooks', values.webhooks, numbersOf),
      ...given('busy', values.busy, numbersOf),
      ...given('scenes', values.scenes, (list) => list.split(',')),
    });
  }
}

/** An option that was given, under the name that benchmarks know it by. */
function given<Name extends string, Value>(
  name: Name,
  text: string | undefined,
  read: (text: string) => Value,
): { readonly [key in Name]?: Value } {
  return text === undefined ? {} : ({ [name]: read(text) } as { readonly [key in Name]: Value });
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

/** What the command line asks of the benchmarks. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const OPTIONS = `  --short             a short run, whose figures are only rough
  --rounds N          how often each measurement is repeated
  --deliveries N      how many deliveries are loaded, or events published
  --scene NAME        one scene alone, of burst, tenants and portal.
                      drain: workers, shards, pending or endpoints grow; or a backlog that may not all run at once:
                      strict-backlog, ten-at-once, strict-backlog-of-one, groups-backlog, batch-backlog; a list, or all
                      history: pages, replay or path
                      aof: sizes or syncs
  --seconds N         tenants: how long an attack lasts
  --shards N          burst: the number of shards of the queues
  --json FILE         also writes the figures of one benchmark to a file
  --build DIR         measures the build of another checkout
  --against DIR       drain: backlogs are compared with those of another checkout's build, instead of plain ones
  --node FILE,…       runs everything with each of these Node programs, one after the other

Of path:

  --scenes NAME,…     further cases, beside the plain one: retry, bodies, rate-limited, strict, filtered, own-types, pushed,
                      batch, transformed, confirmed-N and durable-N with N of paced, 1, 10 and 100, fan-out; or all
  --receivers         slow receivers: all scenes that have aims
  --receiver-ms N,…   how long receivers take; with --webhooks and --busy each combination is a scene
  --webhooks N,…      how many webhooks the events are spread over
  --busy N,…          how many other processes use all the processor time that they get
  --idempotency-keys  sends an Idempotency-Key with each request to Hookferry
  --profile DIR       writes CPU profiles, instead of measuring`;

const THIS_REPOSITORY = join(__dirname, '../..');

/** Where nothing is given, a benchmark takes its own number. */
export function readOptions() {
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
      against: { type: 'string' },
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
  const { help, short, scene, receivers } = values;
  const options = {
    short,
    scene,
    receivers,
    build: resolve(values.build),
    against: values.against && resolve(values.against),
    deliveries: numberOf(values.deliveries),
    rounds: numberOf(values.rounds),
    seconds: numberOf(values.seconds),
    shards: numberOf(values.shards),
    json: values.json && resolve(values.json),
    profile: values.profile && resolve(values.profile),
    receiverMs: numbersOf(values['receiver-ms']),
    webhooks: numbersOf(values.webhooks),
    busy: numbersOf(values.busy),
    scenes: values.scenes?.split(','),
    idempotencyKeys: values['idempotency-keys'],
  };
  return { help, names: positionals.length > 0 ? positionals : undefined, options };
}

export type SuiteOptions = ReturnType<typeof readOptions>['options'];

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function numbersOf(list: string | undefined): readonly number[] | undefined {
  const numbers = list?.split(',').map(Number);
  if (numbers?.every((each) => Number.isInteger(each) && each >= 0) === false)
    throw new Error(`"${list}" is not a list of whole numbers.`);
  return numbers;
}

/** How often two are compared. */
export function roundsOf({ rounds, short }: SuiteOptions): number {
  return rounds ?? (short ? 1 : 3);
}

/** Those that are wished for by name, or all of them. @param kind of what they are, in a word */
export function choose<Item>(
  kind: string,
  all: ReadonlyMap<string, Item>,
  wished: string | readonly string[] | undefined,
): readonly (readonly [string, Item])[] {
  const names = wished === undefined ? [...all.keys()] : [wished].flat();
  return names.map((name) => {
    const item = all.get(name);
    if (item) return [name, item];
    throw new Error(`There is no ${kind} "${name}". The ${kind}s are: ${[...all.keys()].join(', ')}.`);
  });
}

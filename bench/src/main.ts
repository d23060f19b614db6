/**
 * The benchmarks: `npm run bench` for all of them, `npm run bench -- drain` for one, `--short` for a quick look.
 * `--deliveries 200000` is for how many are loaded, where that can be chosen.
 * BENCH_REDIS_URL names a Redis of their own, which they empty.
 */
import { parseArgs } from 'node:util';
import { runDrainSuite } from './drain/index';
import { runHistorySuite } from './history/index';
import { runNeighboursSuite } from './neighbours/index';
import { runPublishSuite } from './publish/index';
import { runZooSuite } from './zoo/index';

const suites = {
  drain: runDrainSuite,
  neighbours: runNeighboursSuite,
  publish: runPublishSuite,
  zoo: runZooSuite,
  history: runHistorySuite,
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { short: { type: 'boolean', default: false }, deliveries: { type: 'string' } },
    allowPositionals: true,
  });
  const redisUrl = process.env.BENCH_REDIS_URL;
  if (redisUrl === undefined)
    throw new Error('BENCH_REDIS_URL is not set. "npm run bench" brings a Redis of its own.');
  const deliveries = Number(values.deliveries ?? 0);
  const wished = positionals.length === 0 ? Object.keys(suites) : positionals;
  for (const name of wished) {
    const run = Object.entries(suites).find(([suite]) => suite === name)?.[1];
    if (!run)
      throw new Error(`There is no benchmark "${name}"; there are: ${Object.keys(suites).join(', ')}.`);
    process.stderr.write(`${name}\n`);
    await run({ redisUrl, short: values.short, ...(deliveries > 0 ? { deliveries } : {}) });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

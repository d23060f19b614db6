/** The benchmarks, by their names. */
import { runAofSuite } from './aof/index';
import { runBurstSuite } from './burst/index';
import { runDrainSuite } from './drain/index';
import { runHistorySuite } from './history/index';
import { choose, OPTIONS, readOptions } from './options';
import { runPathSuite } from './path/index';
import { runPortalSuite } from './portal/index';
import { runTenantsSuite } from './tenants/index';

const suites = new Map([
  ['path', runPathSuite],
  ['drain', runDrainSuite],
  ['burst', runBurstSuite],
  ['tenants', runTenantsSuite],
  ['history', runHistorySuite],
  ['aof', runAofSuite],
  ['portal', runPortalSuite],
]);

async function main(): Promise<void> {
  const { help, names, options } = readOptions();
  if (help) {
    const all = [...suites.keys()].join(', ');
    process.stdout.write(
      `Usage: npm run bench [-- NAME …] [options]\n\nAll benchmarks, or those that are named: ${all}.\n\n${OPTIONS}\n`,
    );
    return;
  }
  const wished = choose('benchmark', suites, names);
  if (options.json !== undefined && wished.length !== 1)
    throw new Error('--json is for one benchmark at a time.');
  for (const [name, run] of wished) {
    process.stderr.write(`${name}\n`);
    await run(options);
  }
}

// What it has started ends with it: see those that listen for its exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

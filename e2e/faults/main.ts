/**
 * The fault suite: `npm run faults` for everything, `npm run faults -- worker-kill` for one fault, `-- quick` for most of
 * them in a few minutes. docs/reliability.md lists the faults that it checks for.
 */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startBusyProcesses } from '@hookferry/core/testing/busy-processes';
import { faultKinds } from './fault-kinds';
import { keepLedgers } from './keep-ledgers';
import { describedModes, parseMode } from './mode';
import { printRows } from './print-rows';
import { Random } from './random';
import { REPOSITORY } from './repository';
import type { RunResult } from './run-result';
import { measurements, scenarios } from './scenarios/scenarios';
import { parseSchedule } from './schedule';
import { MOST_SOAK_MINUTES, soak, USUAL_SOAK_MINUTES } from './soak';
import { names, runFull, runOneKind, runQuick, runSchedule, runShort, type SuiteSetting } from './suite';
import { summarize, totalOf } from './summarize';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      runs: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'string' },
      ledgers: { type: 'string' },
      schedule: { type: 'string' },
      kinds: { type: 'string' },
      history: { type: 'string' },
      mode: { type: 'string' },
      minutes: { type: 'string' },
      busy: { type: 'string', default: '0' },
      build: { type: 'string', default: REPOSITORY },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return void process.stdout.write(usage());
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : toNumber('--seed', values.seed);
  const count = values.runs === undefined ? undefined : toNumber('--runs', values.runs);
  process.stderr.write(`seed ${seed}\n`);
  const keep = values.ledgers === undefined ? async () => {} : keepLedgers(resolve(values.ledgers));
  const historyMoveAfterMs = values.history === undefined ? undefined : toNumber('--history', values.history);
  const isWanted = values.kinds === undefined ? () => true : toFilter(values.kinds);
  const setting = {
    historyMoveAfterMs,
    mode: values.mode === undefined ? undefined : parseMode(values.mode),
    isWanted,
    minutes: values.minutes === undefined ? undefined : toNumber('--minutes', values.minutes),
    build: resolve(values.build),
    random: new Random(seed),
    keep,
    signal: onStopSignal(),
  };
  const busy = startBusyProcesses(toNumber('--busy', values.busy));
  const results: RunResult[] = [];
  const runs = positionals.includes('soak')
    ? soak({
        ...setting,
        seed,
        say,
        minutes: Math.min(setting.minutes ?? USUAL_SOAK_MINUTES, MOST_SOAK_MINUTES),
      })
    : values.schedule === undefined
      ? runWished(positionals, setting, count)
      : runGiven(values.schedule, setting);
  for await (const result of runs) {
    results.push(result);
    report(result);
    // After each run, so that a long suite that is broken off leaves what it has found.
    if (values.json !== undefined) await writeJson(values.json, seed, results);
  }
  if (values.json !== undefined && results.length === 0) await writeJson(values.json, seed, results);
  for (const each of busy) each.kill('SIGKILL');
  process.stdout.write(`\nseed ${seed}\n\n${printRows([...summarize(results, names), totalOf(results)])}\n`);
  if (results.some(({ findings }) => findings.length > 0)) process.exitCode = 1;
}

async function* runWished(
  wished: readonly string[],
  setting: SuiteSetting,
  count: number | undefined,
): AsyncGenerator<RunResult> {
  for (const name of wished.length === 0 ? ['full'] : wished) {
    if (name === 'full') yield* runFull(setting, count);
    else if (name === 'quick') yield* runQuick(setting);
    else if (name === 'short') yield* runShort(setting);
    else yield* runOneKind(name, setting, count);
  }
}

async function* runGiven(schedule: string, setting: SuiteSetting): AsyncGenerator<RunResult> {
  yield await runSchedule(parseSchedule(schedule), { ...setting, fault: 'schedule' });
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function report({ fault, faults, acknowledged, requests, seconds, findings, logs }: RunResult): void {
  const summary = `${faults.length} faults, ${acknowledged} events, ${requests} requests in ${seconds.toFixed(0)} s`;
  process.stderr.write(
    `${fault}: ${summary}: ${findings.length === 0 ? 'all as promised' : 'not as promised'}\n`,
  );
  if (findings.length === 0) return;
  const lines = findings.flatMap(({ check, count, examples }) => [
    `  ${check}: ${count}`,
    ...examples.map((example) => `    ${example}`),
  ]);
  const kept = logs === undefined ? [] : [`  the processes' logs: ${logs}`];
  process.stderr.write(`${[...lines, ...kept, ...describeFaults(faults)].join('\n')}\n`);
}

/** When each struck, in seconds since the first one, as the examples have it. */
function describeFaults(faults: RunResult['faults']): readonly string[] {
  const [first] = faults;
  if (first === undefined) return [];
  const seconds = (time: number) => ((time - first.startedAt) / 1_000).toFixed(2);
  const lines = faults.map(
    ({ kind, victim, startedAt, endedAt }) =>
      `    ${seconds(startedAt)}–${seconds(endedAt)} ${kind}, ${victim}`,
  );
  return ['  what was broken, and when:', ...lines];
}

async function writeJson(file: string, seed: number, results: readonly RunResult[]): Promise<void> {
  const findings = results.flatMap(({ fault, findings: found }) => found.map((one) => ({ fault, ...one })));
  await writeFile(
    file,
    `${JSON.stringify({ seed, rows: summarize(results, names), findings }, undefined, 2)}\n`,
  );
}

/** Aborted when somebody wants this to end: what runs is to be stopped first. */
function onStopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stop.abort(new Error(`Stopped by ${name}.`)));
  }
  return stop.signal;
}

function toNumber(option: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0) throw new Error(`${option} takes a whole number.`);
  return number;
}

/** Of names with commas between them, in which `*` stands for anything. */
function toFilter(text: string): (name: string) => boolean {
  const patterns = text.split(',').map((part) => new RegExp(`^${part.trim().replaceAll('*', '.*')}$`));
  const isWanted = (name: string) => patterns.some((pattern) => pattern.test(name));
  if (!names.some(isWanted))
    throw new Error(`There is no fault "${text}". To see all: npm run faults -- --help`);
  return isWanted;
}

function usage(): string {
  return [
    'npm run faults -- [FAULT … | quick | full | soak] [--runs N] [--minutes N] [--seed N] [--schedule FAULT:SEED,…] [--kinds NAME*,…] [--history MS] [--mode MODE] [--busy N] [--json FILE] [--build DIR] [--ledgers DIR]',
    '',
    ...faultKinds.map(({ name, what }) => `  ${name.padEnd(20)} ${what}`),
    ...[...scenarios, ...measurements].map(({ name, what }) => `  ${name.padEnd(20)} ${what}`),
    `  ${'bursts'.padEnd(20)} nothing is broken: more events come at once than the rate limits allow`,
    '',
    'Each of them in a MODE, by --mode or as FAULT-MODE, where nothing acknowledged may be lost, whatever Redis loses:',
    ...Object.entries(describedModes).map(([mode, what]) => `  ${mode.padEnd(20)} before a 202, ${what}`),
    '',
  ].join('\n');
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  // A run that was broken off may still be publishing to what is not there any more.
  process.exit(1);
});

/** Which commands API and worker send to Redis, and what their scripts call there. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { printTable, writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { onStage, STREAM, type Stage, serviceContender } from './stage';

/** How often each command was sent, by its name. */
type Counts = ReadonlyMap<string, number>;

interface CommandsOfProcess {
  readonly sent: Counts;
  /** Called inside of Redis by the scripts that were sent. */
  readonly called: Counts;
}

export interface CommandCount {
  readonly api: CommandsOfProcess;
  readonly worker: CommandsOfProcess;
  readonly seconds: number;
}

// +1795341501.291854 [0 127.0.0.1:40112] "HMGET" …; what a script calls comes after it, from [0 lua].
const LINE = /^\+[\d.]+ \[\d+ (?:lua|[\d.]+:(\d+))\] "(\w+)"/;

/**
 * Counts while the work goes on, by MONITOR: its lines name the port that a command came from. On a bare socket, since
 * ioredis breaks off when the first of them comes together with the answer to MONITOR.
 */
export async function countCommands(
  { redis, pair }: Pick<Stage, 'redis' | 'pair'>,
  work: () => Promise<void>,
): Promise<CommandCount> {
  const [sentFrom, calledFrom] = [new Map<number, string[]>(), new Map<number, string[]>()];
  let lastPort = 0;
  const { hostname, port } = new URL(redis.url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => {
    const [, from, name = ''] = LINE.exec(line) ?? [];
    if (name === '') return;
    if (from !== undefined) lastPort = Number(from);
    const commandsFrom = from === undefined ? calledFrom : sentFrom;
    const known = commandsFrom.get(lastPort);
    if (known) known.push(name.toLowerCase());
    else commandsFrom.set(lastPort, [name.toLowerCase()]);
  });
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  socket.destroy();
  const of = (pid: number): CommandsOfProcess => {
    const ports = [...localPortsOf(pid)];
    const countFrom = (names: ReadonlyMap<number, readonly string[]>) =>
      countNames(ports.flatMap((each) => names.get(each) ?? []));
    return { sent: countFrom(sentFrom), called: countFrom(calledFrom) };
  };
  return { api: of(pair.api.pid), worker: of(pair.worker.pid), seconds };
}

function countNames(names: readonly string[]): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

export function totalOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

const SOCKET_LINK = /^socket:\[(\d+)\]$/;

/** The ports from which a process has its IPv4 connections open (Linux). */
function localPortsOf(pid: number): Set<number> {
  const inodes = new Set(readdirSync(`/proc/${pid}/fd`).flatMap((fd) => socketInode(pid, fd) ?? []));
  const [, ...lines] = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n');
  return new Set(
    lines
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => inodes.has(fields[9] ?? ''))
      .map((fields) => Number.parseInt(fields[1]?.split(':')[1] ?? '', 16)),
  );
}

function socketInode(pid: number, fd: string): string | undefined {
  try {
    return SOCKET_LINK.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
  } catch {
    // Closed since the folder was read.
    return undefined;
  }
}

const PER_SECOND = 5;
const SETTLE_MS = 1_000;

/** Publishes so many events one by one, five a second. */
export async function sendLoneEvents({ sender, receiver, pair }: Stage, events: number): Promise<void> {
  const firstEvent = await receiver.count(STREAM);
  for (let i = 0; i < events; i += 1) {
    await sender.publish({ target: pair.target, firstEvent: firstEvent + i, events: 1, atOnce: 1 });
    await wait(1_000 / PER_SECOND);
  }
  await wait(SETTLE_MS);
}

const BATCH = 100;
const SIZE = { idleSeconds: 20, loneEvents: 50, batches: 10, warmUpEvents: 200 };
const SHORT_SIZE: typeof SIZE = { idleSeconds: 5, loneEvents: 10, batches: 2, warmUpEvents: 20 };
// A bound, so that a pair that stops delivering ends the benchmark.
const LIMIT_MS = 60_000;

/** Prints which commands there are when nothing happens, for an event that comes alone, and for a batch of 100. */
export async function runCommands(options: SuiteOptions): Promise<void> {
  const { idleSeconds, loneEvents, batches, warmUpEvents } = options.short ? SHORT_SIZE : SIZE;
  const counts = await onStage(serviceContender(options), async (stage) => {
    // Scripts are loaded, and connections made.
    await sendLoneEvents(stage, 1);
    await sendBatches(stage, 1, warmUpEvents);
    const idle = await countCommands(stage, () => wait(idleSeconds * 1_000));
    const lone = await countCommands(stage, () => sendLoneEvents(stage, loneEvents));
    const batch = await countCommands(stage, () => sendBatches(stage, batches, BATCH));
    return {
      idle: scaled(idle, idle.seconds),
      lone: scaled(lone, loneEvents, idle),
      batch: scaled(batch, batches, idle),
    };
  });
  print('Nothing happens: a second', counts.idle);
  print('An event that comes alone', counts.lone);
  print(`A batch of ${BATCH} events`, counts.batch);
  await writeJson(options.json, counts);
}

async function sendBatches({ sender, receiver, pair }: Stage, batches: number, events: number) {
  for (let i = 0; i < batches; i += 1) {
    const firstEvent = await receiver.count(STREAM);
    await sender.publishBatches([{ target: pair.target, firstEvent, events }], 1);
    await receiver.waitFor(STREAM, firstEvent + events, LIMIT_MS);
    await wait(SETTLE_MS);
  }
}

interface Row {
  readonly process: 'API' | 'worker';
  readonly kind: 'sent' | 'called by scripts';
  readonly command: string;
  readonly count: number;
}

/** What there is of each, without what there is anyway when nothing happens. */
function scaled(count: CommandCount, times: number, idle?: CommandCount): readonly Row[] {
  const rowsOf = (process: Row['process'], kind: Row['kind'], of: (count: CommandCount) => Counts) => {
    const idleOf = (command: string) =>
      idle ? ((of(idle).get(command) ?? 0) / idle.seconds) * count.seconds : 0;
    return [...of(count)]
      .map(([command, all]) => ({ process, kind, command, count: (all - idleOf(command)) / times }))
      .sort((a, b) => b.count - a.count);
  };
  return [
    ...rowsOf('API', 'sent', ({ api }) => api.sent),
    ...rowsOf('worker', 'sent', ({ worker }) => worker.sent),
    ...rowsOf('API', 'called by scripts', ({ api }) => api.called),
    ...rowsOf('worker', 'called by scripts', ({ worker }) => worker.called),
  ];
}

const COLUMNS = [
  ['API', 'sent'],
  ['worker', 'sent'],
  ['API', 'called by scripts'],
  ['worker', 'called by scripts'],
] as const;
// Less than that is what the idle seconds had more or less of.
const LEAST_SHOWN = 0.05;

function print(title: string, rows: readonly Row[]): void {
  const countsOf = (isMeant: (row: Row) => boolean) =>
    COLUMNS.map(([process, kind]) =>
      rows
        .filter((row) => row.process === process && row.kind === kind && isMeant(row))
        .reduce((sum, { count }) => sum + count, 0),
    );
  const lines = [...new Set(rows.map(({ command }) => command))]
    .map((command) => ({ command, counts: countsOf((row) => row.command === command) }))
    .filter(({ counts }) => counts.some((count) => count >= LEAST_SHOWN));
  printTable(title, [
    ['', ...COLUMNS.map(([process, kind]) => `${process}: ${kind}`)],
    ['all', ...countsOf(() => true).map((count) => count.toFixed(1))],
    ...lines.map(({ command, counts }) => [
      command,
      ...counts.map((count) => (count < LEAST_SHOWN ? '' : count.toFixed(1))),
    ]),
  ]);
}

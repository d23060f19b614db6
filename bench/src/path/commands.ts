/** How many commands API and worker send to Redis. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { STREAM, type Stage } from './stage';

export interface CommandCount {
  readonly api: number;
  readonly worker: number;
  readonly seconds: number;
}

// +1795341501.291854 [0 127.0.0.1:40112] "HMGET" …; what a script calls comes from [0 lua].
const LINE = /^\+[\d.]+ \[\d+ [\d.]+:(\d+)\]/;

/**
 * Counts while the work goes on, by MONITOR: its lines name the port that a command came from. On a bare socket, since
 * ioredis breaks off when the first of them comes together with the answer to MONITOR.
 */
export async function countCommands(
  { redis, pair }: Pick<Stage, 'redis' | 'pair'>,
  work: () => Promise<void>,
): Promise<CommandCount> {
  const sentFrom = new Map<number, number>();
  const { hostname, port } = new URL(redis.url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => {
    const from = Number(LINE.exec(line)?.[1]);
    sentFrom.set(from, (sentFrom.get(from) ?? 0) + 1);
  });
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  socket.destroy();
  const of = (pid: number) =>
    [...localPortsOf(pid)].reduce((sum, each) => sum + (sentFrom.get(each) ?? 0), 0);
  return { api: of(pair.api.pid), worker: of(pair.worker.pid), seconds };
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
    await sender.ask('publish', { target: pair.target, firstEvent: firstEvent + i, events: 1, atOnce: 1 });
    await wait(1_000 / PER_SECOND);
  }
  await wait(SETTLE_MS);
}

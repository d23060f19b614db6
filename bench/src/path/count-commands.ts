import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { localPortsOf } from '../processes/process-figures';
import type { Stage } from './stage';

/** Commands that each process sent to Redis. What their scripts do inside of Redis is not counted. */
export interface CommandCount {
  readonly api: number;
  readonly worker: number;
  readonly seconds: number;
}

// +1795341501.291854 [0 127.0.0.1:40112] "HMGET" …; of a command within a script: [0 lua].
const SENT_FROM = /^\+[\d.]+ \[\d+ [\d.]+:(\d+)\]/;

/**
 * Counts while the work goes on, by MONITOR: its lines name the port that a command came from. On a bare socket, since
 * ioredis breaks off when the first of them comes together with the answer to MONITOR.
 */
export async function countCommands(
  { redis, pair }: Pick<Stage, 'redis' | 'pair'>,
  work: () => Promise<void>,
): Promise<CommandCount> {
  const commandsOfPort = new Map<number, number>();
  const { hostname, port } = new URL(redis.url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => {
    const from = Number(SENT_FROM.exec(line)?.[1]);
    commandsOfPort.set(from, (commandsOfPort.get(from) ?? 0) + 1);
  });
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  socket.destroy();
  const countOf = (pid: number) =>
    [...localPortsOf(pid)].reduce((sum, each) => sum + (commandsOfPort.get(each) ?? 0), 0);
  return { api: countOf(pair.api.pid), worker: countOf(pair.worker.pid), seconds };
}

import { Redis } from 'ioredis';
import { localPortsOf } from '../processes/process-figures';
import type { Stage } from './stage';

/** Commands that each process sent to Redis. What their scripts do inside of Redis is not counted. */
export interface CommandCount {
  readonly api: number;
  readonly worker: number;
  readonly seconds: number;
}

/** Counts while the work goes on, by MONITOR: its lines name the port that a command came from. */
export async function countCommands(
  { redis, pair }: Pick<Stage, 'redis' | 'pair'>,
  work: () => Promise<void>,
): Promise<CommandCount> {
  const commandsOfPort = new Map<number, number>();
  const client = new Redis(redis.url);
  const monitor = await client.monitor();
  monitor.on('monitor', (_time: string, _args: readonly string[], source: string) => {
    // Within a script it is `lua`, which is no port.
    const port = Number(source.split(':').at(-1));
    commandsOfPort.set(port, (commandsOfPort.get(port) ?? 0) + 1);
  });
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  monitor.disconnect();
  client.disconnect();
  const countOf = (pid: number) =>
    [...localPortsOf(pid)].reduce((sum, port) => sum + (commandsOfPort.get(port) ?? 0), 0);
  return { api: countOf(pair.api.pid), worker: countOf(pair.worker.pid), seconds };
}

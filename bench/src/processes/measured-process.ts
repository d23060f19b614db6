/** Processes whose cost is measured: programs that node runs, and Redis. None of them outlives the benchmark. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { redisAnswers } from '@hookferry/core/testing/redis-answers';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';

/** A process under measurement, with its processor time and memory at hand. */
export class MeasuredProcess {
  constructor(private readonly child: ChildProcess) {
    endWithUs(child);
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('The process did not start.');
    return pid;
  }

  /** User and system time so far, in milliseconds (Linux). */
  cpuMs(): number {
    return cpuMsOf(this.pid);
  }

  /** How much memory it has in RAM (Linux). */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024;
  }

  async close(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }
}

/** Node runs the script, quietly. @param nodeOptions for node itself. */
export function runScript(
  script: string,
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): MeasuredProcess {
  const child = spawn(process.execPath, [...nodeOptions, script], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_ENV: 'production',
      SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new MeasuredProcess(child);
}

const LOOK_EVERY_MS = 20;
const READY_WITHIN_MS = 60_000;

/**
 * A Redis of a measurement's own that writes nothing to disk, so that it begins empty and its processor time and
 * memory are those of what is measured. TEST_REDIS_SERVER is its command line, as a JSON array.
 */
export class RedisProcess extends MeasuredProcess {
  private constructor(
    child: ChildProcess,
    readonly port: number,
    private readonly folder: string,
  ) {
    super(child);
  }

  /**
   * @param more options of the server.
   * @param through the command that starts it, such as one that counts its calls of the system.
   */
  static async start(more: readonly string[] = [], through: readonly string[] = []): Promise<RedisProcess> {
    const [program = 'redis-server', ...given] = [
      ...through,
      ...(JSON.parse(process.env.TEST_REDIS_SERVER ?? '["redis-server"]') as string[]),
    ];
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-bench-redis-'));
    const port = await findClosedPort();
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const child = spawn(program, [...given, ...own, '--appendonly', 'no', '--save', '', ...more], {
      env: { ...process.env, LD_LIBRARY_PATH: process.env.TEST_REDIS_LD_LIBRARY_PATH ?? '' },
      stdio: 'ignore',
    });
    const redis = new RedisProcess(child, port, folder);
    const limit = Date.now() + READY_WITHIN_MS;
    while (!(await redisAnswers(port))) {
      if (Date.now() > limit) throw new Error('Redis did not become ready.');
      await wait(LOOK_EVERY_MS);
    }
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  override async close(): Promise<void> {
    await super.close('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * What others than these processes and this one take of the machine, in cores. What was measured beside much of that is
 * no figure to rely on.
 * @returns what it was on average since then
 */
export function watchOthers(processes: readonly { readonly pid: number }[]): () => number {
  const ours = [process, ...processes];
  const othersCpuMs = () => machineCpuMs() - ours.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
  const [cpuBefore, startedAt] = [othersCpuMs(), performance.now()];
  return () => (othersCpuMs() - cpuBefore) / (performance.now() - startedAt);
}

const children = new Set<ChildProcess>();
let isListening = false;

/** Also when the benchmark breaks off, none of its processes stays behind. */
function endWithUs(child: ChildProcess): void {
  if (!isListening) process.once('exit', endAll);
  isListening = true;
  children.add(child);
  child.once('exit', () => children.delete(child));
}

function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

// The kernel counts a process's time in ticks of a hundredth of a second, on every Linux that Node runs on.
const TICK_MS = 10;

/** User and system time of a process so far, in milliseconds (Linux). @param ended whether its children count that have ended. */
export function cpuMsOf(pid: number, ended?: 'with ended children'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in parentheses, may hold spaces; what follows it does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, ended ? 15 : 13).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}

/** Processor time that all of the machine has spent so far, and what its host took from it, in milliseconds (Linux). */
function machineCpuMs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * TICK_MS;
}

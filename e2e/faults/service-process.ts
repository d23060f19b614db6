import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { until } from '../support/until';
import type { FaultyProxy } from './faulty-proxy';

// A bound, so that a process that can't start ends the run.
const READY_WITHIN_MS = 60_000;

export interface ServiceProcessOptions {
  readonly name: string;
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where it serves /readyz. */
  readonly url: string;
  /** Between it and Redis. */
  readonly proxy: FaultyProxy;
  readonly logFile: string;
}

/** An API or a worker that is killed, stopped and started again under the same name and address. */
export class ServiceProcess {
  #child: ChildProcess | undefined;

  constructor(private readonly options: ServiceProcessOptions) {}

  get name(): string {
    return this.options.name;
  }

  get url(): string {
    return this.options.url;
  }

  get proxy(): FaultyProxy {
    return this.options.proxy;
  }

  /** Resolves once it says that it is ready. */
  async start(): Promise<void> {
    const { script, environment, logFile, url } = this.options;
    const log = openSync(logFile, 'a');
    this.#child = spawn(process.execPath, [script], { env: environment, stdio: ['ignore', log, log] });
    closeSync(log);
    const child = this.#child;
    const giveUpAt = Date.now() + READY_WITHIN_MS;
    await until(async () => {
      if (hasEnded(child)) throw new Error(`${this.name} ended at its start: ${await readEnd(logFile)}`);
      if (Date.now() > giveUpAt) throw new Error(`${this.name} did not become ready.`);
      return (await isReady(url)) ? true : undefined;
    });
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || hasEnded(child)) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function readEnd(logFile: string): Promise<string> {
  return (await readFile(logFile, 'utf8')).slice(-1_000);
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

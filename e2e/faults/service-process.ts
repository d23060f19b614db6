import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../support/until';
import type { FaultyProxy } from './faulty-proxy';
import { TAMPERING_FILE, type Tampering } from './tampering';

// A bound, so that a process that can't start ends the run. On a machine that others use as well a start takes a minute.
const READY_WITHIN_MS = 180_000;
const MOST_OWN_ENDS = 10;
const FAULTY_RUNTIME = join(__dirname, 'faulty-runtime.js');

export interface ServiceProcessOptions {
  readonly name: string;
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where it serves /readyz. */
  readonly url: string;
  /** Between it and Redis, where there is one. */
  readonly proxy: FaultyProxy | undefined;
  /** Between it and PostgreSQL, where there is a history. */
  readonly historyProxy: FaultyProxy | undefined;
  /** Where its log is. */
  readonly folder: string;
}

/** An API or a worker that is killed, stopped and started again under the same name and address. */
export class ServiceProcess {
  #child: ChildProcess | undefined;
  #isClosed = false;
  /** What the end of its log was each time that it ended without being told to. It was started anew then. */
  readonly ownEnds: string[] = [];

  constructor(private readonly options: ServiceProcessOptions) {}

  get name(): string {
    return this.options.name;
  }

  get url(): string {
    return this.options.url;
  }

  /** @throws where it reaches Redis without one. */
  get proxy(): FaultyProxy {
    if (!this.options.proxy) throw new Error(`There is no proxy between ${this.name} and Redis.`);
    return this.options.proxy;
  }

  /** @throws where there is no history. */
  get historyProxy(): FaultyProxy {
    if (!this.options.historyProxy) throw new Error(`${this.name} has no history.`);
    return this.options.historyProxy;
  }

  /** Undefined while it does not run. */
  get processId(): number | undefined {
    return this.#child && !hasEnded(this.#child) ? this.#child.pid : undefined;
  }

  /** Resolves once it says that it is ready. @throws once it is closed: a run that broke off is to leave nothing. */
  async start(): Promise<void> {
    const { url } = this.options;
    if (this.#isClosed) throw new Error(`${this.name} is closed.`);
    const logFile = this.#file('log');
    const log = openSync(logFile, 'a');
    this.#child = spawn(process.execPath, ['--require', FAULTY_RUNTIME, this.options.script], {
      env: { ...this.options.environment, [TAMPERING_FILE]: this.#file('tampering') },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const child = this.#child;
    child.once('exit', () => void this.#startAgain(child, logFile));
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
    this.#child = undefined;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  // As whatever looks after processes does.
  async #startAgain(child: ChildProcess, logFile: string): Promise<void> {
    if (child !== this.#child) return;
    this.ownEnds.push(`${this.name}: ${await readEnd(logFile)}`);
    if (this.ownEnds.length <= MOST_OWN_ENDS) await this.start().catch(() => {});
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Does something to it from within. */
  async tamper(tampering: Tampering): Promise<void> {
    await writeFile(this.#file('tampering'), JSON.stringify(tampering));
    this.#child?.kill('SIGUSR2');
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end('SIGKILL');
    await this.options.proxy?.close();
    await this.options.historyProxy?.close();
  }

  #file(extension: string): string {
    return join(this.options.folder, `${this.name.replace(' ', '-')}.${extension}`);
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

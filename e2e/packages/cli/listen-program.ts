import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inTime } from '@hookferry/core/testing/in-time';

const PROGRAM = join(__dirname, '../../../packages/cli/bin/hookferry.js');

/** What the program says of a delivery. */
export interface ForwardedLine {
  readonly event_id: string;
  readonly batch_id: string | null;
  readonly type: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** `hookferry listen --json`, run as a process of its own. */
export class ListenProgram {
  readonly lines: ForwardedLine[] = [];
  readonly #child: ChildProcess;
  readonly #changes = new EventEmitter();
  readonly #exited: Promise<number | null>;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], connection: { readonly url: string; readonly key: string }) {
    this.#child = spawn(process.execPath, [PROGRAM, 'listen', '--json', ...args], {
      env: { PATH: process.env.PATH ?? '', HOOKFERRY_URL: connection.url, HOOKFERRY_API_KEY: connection.key },
    });
    this.#exited = once(this.#child, 'close').then(([code]) => code as number | null);
    void this.#exited.then(() => this.#changes.emit('change'));
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
      this.#changes.emit('change');
    });
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.#stdout += `${line}\n`;
        if (line.startsWith('{"at"')) this.lines.push(JSON.parse(line) as ForwardedLine);
        this.#changes.emit('change');
      });
    }
  }

  /** All of its stdout. */
  get raw(): string {
    return this.#stdout;
  }

  /** What it said on stderr. */
  get said(): string {
    return this.#stderr;
  }

  /** Resolves when it has said for so many times that it is ready. */
  async ready(times = 1): Promise<this> {
    await this.#until(() => this.#stderr.split('Ready:').length > times);
    return this;
  }

  /** Resolves when it has forwarded so many. */
  async forwarded(count: number): Promise<readonly ForwardedLine[]> {
    await this.#until(() => this.lines.length >= count);
    return this.lines;
  }

  /** Resolves with its exit code, or null if the signal ended it. */
  async end(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    return await this.#exited;
  }

  async exited(): Promise<number | null> {
    return await this.#exited;
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#child.exitCode !== null)
        throw new Error(`It ended with ${this.#child.exitCode}: ${this.#stderr}`);
      await inTime(
        once(this.#changes, 'change'),
        () => `no ${String(isSo)}; it wrote ${this.#stderr.slice(-500)}`,
      );
    }
  }
}

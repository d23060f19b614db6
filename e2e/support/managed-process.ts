import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { inTime } from '@hookferry/core/testing/in-time';

/** A line of a process's JSON log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** One of our processes, run from its build, with its log read line by line. */
export class ManagedProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  readonly log: LogLine[] = [];
  readonly #onLine = new Set<() => void>();
  #stderr = '';

  constructor(script: string, environment: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [script], {
      env: { PATH: process.env.PATH ?? '', LOG_FORMAT: 'json', LOG_LEVEL: 'debug', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#child, 'exit').then(([code]) => code as number | null);
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    }
  }

  /** Resolves with the first line of the log that is as wished, whether written before or after this call. */
  async waitForLine(isWished: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = this.log.find(isWished);
      if (found) return found;
      const next = Promise.race([
        new Promise<void>((resolve) => {
          const listener = () => {
            this.#onLine.delete(listener);
            resolve();
          };
          this.#onLine.add(listener);
        }),
        this.#exited.then((code) => {
          const told = this.log.find(({ message }) => message === 'process.not_started');
          const why = told ? JSON.stringify(told.detail) : this.#stderr;
          throw new Error(`The process ended with ${code} before the line came. ${why}`);
        }),
      ]);
      await inTime(
        next,
        () => `no line by ${String(isWished)}; the last: ${JSON.stringify(this.log.slice(-3))}`,
      );
    }
  }

  /** Everything that it wrote, to look for what must not be there. */
  get output(): string {
    return `${this.log.map((line) => JSON.stringify(line)).join('\n')}\n${this.#stderr}`;
  }

  /** Sends a signal that it goes on after. */
  sendSignal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal; resolves with the exit code, or null if the signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    return await this.#exited;
  }

  #take(line: string): void {
    this.log.push(line.startsWith('{') ? (JSON.parse(line) as LogLine) : { text: line });
    for (const listener of this.#onLine) listener();
  }
}

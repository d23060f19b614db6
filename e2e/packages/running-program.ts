import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../support/until';

/** A program of another language, and what it prints. */
export class RunningProgram {
  readonly #child: ChildProcess;
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
  #output = '';

  constructor(
    [command, ...parameters]: readonly [string, ...string[]],
    environment: Readonly<Record<string, string>>,
    cwd?: string,
  ) {
    this.#child = spawn(command, parameters, {
      env: { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd,
    });
    this.exited = once(this.#child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
  }

  /** All that it has printed so far. */
  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null;
  }

  /** Resolves with what the pattern's group has found in the output, once it is there. */
  async waitFor(pattern: RegExp): Promise<string> {
    const look = async () => {
      const found = pattern.exec(this.#output)?.[1];
      if (found === undefined && this.hasEnded) throw new Error(`It ended: ${this.#output}`);
      return found;
    };
    return await until(look, () => `no ${pattern} in ${this.#output.slice(-500)}`);
  }

  /** Resolves with the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    return await this.exited;
  }
}

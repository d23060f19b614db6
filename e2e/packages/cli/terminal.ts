import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { inTime } from '@hookferry/core/testing/in-time';

// Python's own: what comes in is typed, what is shown comes out.
const PTY = `
import os, pty, sys
status = pty.spawn(['sh', '-c', 'stty cols 120 rows 40; exec "$@"', 'sh', *sys.argv[1:]])
sys.exit(os.waitstatus_to_exitcode(status))
`;

export const CTRL_C = '\u0003';

/** Whether there can be a terminal on this machine. */
export function hasTerminals(): boolean {
  return spawnSync('python3', ['-c', 'import pty']).status === 0;
}

/** A program in a pseudo-terminal, and somebody who looks at it and types. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #changes = new EventEmitter();
  readonly #exited: Promise<number | null>;
  #shown = '';

  constructor(command: readonly string[], cwd: string, environment: Readonly<Record<string, string>>) {
    this.#child = spawn('python3', ['-c', PTY, ...command], { cwd, env: environment });
    this.#exited = once(this.#child, 'close').then(([code]) => {
      this.#changes.emit('change');
      return code as number | null;
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#shown += chunk.toString();
        this.#changes.emit('change');
      });
    }
  }

  /** All that was shown so far. */
  get shown(): string {
    return this.#shown;
  }

  /** Resolves once this is shown. @throws Error if the program ends before. */
  async waitFor(text: string | RegExp): Promise<void> {
    const ended = this.#exited.then((code) => `ended with ${code}`);
    for (;;) {
      if (typeof text === 'string' ? this.#shown.includes(text) : text.test(this.#shown)) return;
      const next = Promise.race([once(this.#changes, 'change'), ended]);
      const how = await inTime(next, () => `no ${String(text)} in ${this.#shown.slice(-500)}`);
      if (typeof how === 'string' && !this.#shown.match(text)) {
        throw new Error(`It ${how} and did not show ${String(text)}:\n${this.#shown}`);
      }
    }
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Resolves with the exit code once the program has ended. */
  async end(): Promise<number | null> {
    return await this.#exited;
  }
}

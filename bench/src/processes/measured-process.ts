import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { TEST_ENCRYPTION_KEY } from '@webhooks/core/testing/test-sealer';

// The kernel counts a process's time in ticks of a hundredth of a second, on every Linux that Node runs on.
const TICK_MS = 10;

/** A program under measurement: run by node, quiet, with its processor time at hand. */
export class MeasuredProcess {
  readonly #child: ChildProcess;

  constructor(script: string, environment: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [script], {
      env: {
        PATH: process.env.PATH ?? '',
        NODE_ENV: 'production',
        SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** User and system time so far, in milliseconds (Linux). */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    // The program's name, in parentheses, may hold spaces; what follows it does not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { endWithUs } from './end-with-us';
import { cpuMsOf, residentBytesOf } from './process-figures';

/** A program under measurement: run by node, quiet, with its processor time at hand. */
export class MeasuredProcess {
  readonly #child: ChildProcess;

  /** @param nodeOptions for node itself, before the script. */
  constructor(
    script: string,
    environment: Readonly<Record<string, string>>,
    nodeOptions: readonly string[] = [],
  ) {
    this.#child = spawn(process.execPath, [...nodeOptions, script], {
      env: {
        PATH: process.env.PATH ?? '',
        NODE_ENV: 'production',
        SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    endWithUs(this.#child);
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('The process did not start.');
    return pid;
  }

  /** User and system time so far, in milliseconds (Linux). */
  cpuMs(): number {
    return cpuMsOf(this.pid);
  }

  residentBytes(): number {
    return residentBytesOf(this.pid);
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Ends it at once, whatever it has in hand. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }
}

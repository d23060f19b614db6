import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Reply, Sending, Sent } from './sender';

const SCRIPT = join(__dirname, 'sender.ts');

/** The transport of the worker as a process that can be measured (Linux). */
export class SenderProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  /** @param trustedFile the certificate of an authority that it is to trust. */
  constructor(trustedFile?: string) {
    this.#child = fork(SCRIPT, {
      execArgv: ['--expose-gc', '--require', 'esbuild-register'],
      env: {
        PATH: process.env.PATH ?? '',
        ...(trustedFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: trustedFile }),
      },
    });
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`The sender ended with ${code}.`);
    });
    // Whoever asks it something is told; its end after that is as it should be.
    this.#ended.catch(() => {});
  }

  async send(sending: Sending): Promise<Sent> {
    return (await this.#ask({ do: 'send', sending })) as Sent;
  }

  /** What is in use after what is not was thrown away. */
  async heapBytes(): Promise<number> {
    return ((await this.#ask({ do: 'collect garbage' })) as { heapBytes: number }).heapBytes;
  }

  residentBytes(): number {
    return this.#memory('VmRSS');
  }

  /** The most that it ever had. */
  peakResidentBytes(): number {
    return this.#memory('VmHWM');
  }

  openFiles(): number {
    return readdirSync(`/proc/${this.#child.pid}/fd`).length;
  }

  stop(): void {
    this.#child.disconnect();
  }

  #memory(figure: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024;
  }

  async #ask(command: Command): Promise<Reply> {
    const response = once(this.#child, 'message') as Promise<[Reply]>;
    this.#child.send(command);
    const [reply] = await Promise.race([response, this.#ended]);
    return reply;
  }
}

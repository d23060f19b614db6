import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { confine, confinedProcess } from './confinement';
import type { Image } from './follow-dockerfile';
import type { Command } from './read-dockerfile';

export interface ContainerOptions {
  readonly image: Image;
  /** What the base image's PATH would find: `node`, and nothing else. */
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether it runs on a read-only root file system, without rights; as this process does otherwise. */
  readonly isConfined: boolean;
}

const ASK_EVERY_MS = 50;

/** The process that a container of an image would be: its CMD, its ENV, its WORKDIR, and nothing of ours. */
export class ImageProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  #output = '';

  constructor(private readonly options: ContainerOptions) {
    if (!options.image.command) throw new Error('The image has no CMD.');
    this.#child = start(options, options.image.command);
    this.#exited = once(this.#child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
  }

  /** Asks until it is ready. Rejects with what it wrote once it has ended instead. */
  async waitUntilReady(port: number): Promise<void> {
    while (!this.#hasEnded) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await wait(ASK_EVERY_MS);
    }
    throw new Error(`The process ended with ${String(await this.#exited)}: ${this.#output}`);
  }

  /** Runs the HEALTHCHECK as an engine would; resolves with its exit code. */
  async checkHealth(): Promise<number | null> {
    if (!this.options.image.healthcheck) throw new Error('The image has no HEALTHCHECK.');
    return await this.run(this.options.image.healthcheck);
  }

  /** Runs another program in the same container; resolves with its exit code. */
  async run(command: Command): Promise<number | null> {
    const [code] = await once(start(this.options, command), 'exit');
    return code as number | null;
  }

  /** Sends the image's STOPSIGNAL; resolves with the exit code, or null if the signal ended it. */
  async stop(): Promise<number | null> {
    if (!this.#hasEnded) process.kill(await this.#processId(), this.options.image.stopSignal ?? 'SIGTERM');
    return await this.#exited;
  }

  async #processId(): Promise<number> {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('The process did not start.');
    return this.options.isConfined ? await confinedProcess(pid) : pid;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

function start({ image, path, environment, isConfined }: ContainerOptions, command: Command): ChildProcess {
  const [program, ...args] = isConfined ? confine(command, image.user) : command;
  return spawn(program, args, {
    cwd: join(image.root, image.workdir),
    env: { PATH: path, ...image.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

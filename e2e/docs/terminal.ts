import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../support/until';

/** A shell in which commands are pasted one block after the other, as a reader of a page does it. */
export class Terminal {
  readonly #shell: ChildProcess;
  #output = '';
  #pasted = 0;

  constructor(folder: string) {
    // A group of its own, so that what it runs in the background ends with it.
    this.#shell = spawn('bash', ['-s'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '' },
      detached: true,
    });
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
  }

  /** All that was printed so far. */
  get output(): string {
    return this.#output;
  }

  /** @returns what was printed until the last of the commands ended. */
  async paste(commands = ''): Promise<string> {
    const from = this.#output.length;
    this.#pasted += 1;
    const end = `pasted-${this.#pasted}-is-done\n`;
    // What is pasted later is none of the input of what runs now.
    this.#shell.stdin?.write(`{\n${commands}\n} < /dev/null\necho ${end}`);
    await until(async () => this.#output.includes(end) || undefined);
    return this.#output.slice(from).replace(end, '');
  }

  /** Waits until all that was printed so far has this in it, or what `again` prints, which is pasted until it has. */
  async waitFor(pattern: RegExp, again?: string): Promise<void> {
    await until(async () => {
      const printed = again === undefined ? this.#output : await this.paste(again);
      return pattern.test(printed) || undefined;
    });
  }

  async close(): Promise<void> {
    const exited = once(this.#shell, 'exit');
    if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, 'SIGKILL');
    await exited;
  }
}

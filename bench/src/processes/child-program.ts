import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What a program says: first of all its greeting, then a reply to each command. */
export type Said<T> = { readonly value: T } | { readonly error: string };

/** A part of a benchmark that has a process of its own. It is asked one thing after the other. */
export class ChildProgram<Greeting, Command extends object> {
  readonly #ended: Promise<never>;

  private constructor(
    private readonly child: ChildProcess,
    readonly greeting: Greeting,
  ) {
    this.#ended = once(child, 'exit').then(([code]) => {
      throw new Error(`A program of the benchmark ended with ${code}.`);
    });
    // Whoever asks it something is told; its end after that is as it should be.
    this.#ended.catch(() => {});
  }

  static async start<Greeting, Command extends object>(
    script: string,
  ): Promise<ChildProgram<Greeting, Command>> {
    const child = fork(script);
    const [said] = (await once(child, 'message')) as [{ value: Greeting }];
    return new ChildProgram<Greeting, Command>(child, said.value);
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('A program of the benchmark did not start.');
    return pid;
  }

  async ask<Reply>(command: Command): Promise<Reply> {
    const answer = once(this.child, 'message') as Promise<[Said<Reply>]>;
    this.child.send(command);
    const [said] = await Promise.race([answer, this.#ended]);
    if ('error' in said) throw new Error(said.error);
    return said.value;
  }

  stop(): void {
    if (this.child.connected) this.child.disconnect();
  }
}

/** The program's side: greets its parent, then obeys it, and ends with it. */
export function obeyParent(greeting: unknown, obey: (command: unknown) => unknown): void {
  process.on('message', (command: unknown) => void reply(command));
  process.on('disconnect', () => process.exit());
  process.send?.({ value: greeting });

  async function reply(command: unknown): Promise<void> {
    try {
      process.send?.({ value: (await obey(command)) ?? null });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? error.message : String(error) });
    }
  }
}

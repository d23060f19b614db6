import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What a program does for its parent, by name. */
type Methods = Readonly<Record<string, (...input: never[]) => unknown>>;

type Reply = { readonly value: unknown } | { readonly error: string };

/** A part of a benchmark that has a process of its own. It is asked one thing after the other. */
export class ChildProgram<Program extends Methods> {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(script: string) {
    this.#child = fork(script);
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`A program of the benchmark ended with ${code}.`);
    });
    // Whoever asks it something is told; its end after that is as it should be.
    this.#ended.catch(() => {});
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('A program of the benchmark did not start.');
    return pid;
  }

  async ask<Name extends keyof Program>(
    name: Name,
    ...input: Parameters<Program[Name]>
  ): Promise<Awaited<ReturnType<Program[Name]>>> {
    const answer = once(this.#child, 'message') as Promise<[Reply]>;
    this.#child.send({ name, input });
    const [reply] = await Promise.race([answer, this.#ended]);
    if ('error' in reply) throw new Error(reply.error);
    return reply.value as Awaited<ReturnType<Program[Name]>>;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** The program's side: does what its parent asks for, and ends with it. */
export function obeyParent(program: Methods): void {
  process.on('message', (command: { readonly name: string; readonly input: never[] }) => void obey(command));
  process.on('disconnect', () => process.exit());

  async function obey({ name, input }: { readonly name: string; readonly input: never[] }): Promise<void> {
    try {
      process.send?.({ value: (await program[name]?.(...input)) ?? null });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? error.message : String(error) });
    }
  }
}

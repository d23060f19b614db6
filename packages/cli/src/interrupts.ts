/** What Ctrl-C does: it ends the program, unless a command has asked to hear of it first. */
export class Interrupts {
  #current: AbortController | undefined;

  /** @param endProgram what happens when no command wants to hear of it. */
  constructor(private readonly endProgram: () => void) {}

  /** Somebody pressed Ctrl-C. A second one is for those whom the first did not end. */
  raise(): void {
    const controller = this.#current;
    this.#current = undefined;
    if (controller === undefined) this.endProgram();
    else controller.abort();
  }

  /** While `work` goes on, the first Ctrl-C aborts its signal in place of ending the program. */
  async during<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    this.#current = controller;
    try {
      return await work(controller.signal);
    } finally {
      if (this.#current === controller) this.#current = undefined;
    }
  }
}

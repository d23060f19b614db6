/**
 * Work that pauses at points of the test's choice until the test lets it go on, so that anything else can
 * happen in between. Work that never goes on equals a process that has died.
 */
export class Stepwise {
  /** Where it stands. */
  at = 'its beginning';
  hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  #goOn: (value: unknown) => void = () => {};
  #hasArrived: () => void = () => {};

  /** Resolves when the work pauses for the first time, or has ended. @throws the work's error. */
  async start(work: () => Promise<void>): Promise<void> {
    await this.#until(() => {
      work()
        .catch((error: unknown) => {
          this.#failure = { error };
        })
        .finally(() => {
          this.hasEnded = true;
          this.#hasArrived();
        });
    });
  }

  /** For the work: pause. Gives the value passed to `step`. */
  async pause(at: string): Promise<unknown> {
    this.at = at;
    return await new Promise((resolve) => {
      this.#goOn = resolve;
      this.#hasArrived();
    });
  }

  /** The same call, but standing still before it. */
  before<Args extends readonly unknown[], Result>(
    at: string,
    call: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      await this.pause(at);
      return await call(...args);
    };
  }

  /** Resolves when the work pauses next, or has ended. @throws the work's error. */
  async step(value?: unknown): Promise<void> {
    await this.#until(() => this.#goOn(value));
  }

  async #until(setOff: () => void): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#hasArrived = resolve;
      setOff();
    });
    if (this.#failure) throw this.#failure.error;
  }
}

import { SingleBar } from 'cli-progress';
import type { Output } from './output';

/** How far something is: a bar for people at a terminal, nothing elsewhere. */
export class ProgressBar {
  readonly #bar: SingleBar | undefined;
  #isStarted = false;

  constructor(output: Output, what: string) {
    if (!output.isWatched) return;
    this.#bar = new SingleBar({
      format: `{bar} {percentage}%  {value} of {total} ${what}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      hideCursor: true,
      stream: output.errorStream,
      // While the total is unknown, the bar shows 0 %.
      emptyOnZero: true,
    });
  }

  show(done: number, total: number): void {
    if (!this.#isStarted) this.#bar?.start(total, done);
    this.#isStarted = true;
    this.#bar?.setTotal(total);
    this.#bar?.update(done);
  }

  /** May be called at any time, and more than once; `show` begins again. */
  stop(): void {
    if (this.#isStarted) this.#bar?.stop();
    this.#isStarted = false;
  }
}

const BAR_WIDTH = 24;
// Where there is no terminal a line stays, so that there are few of them.
const LINE_EVERY_MS = 15_000;

/** One line on standard error that says where a run is. */
export class Progress {
  #last = '';
  #lineAt = 0;

  constructor(
    private readonly label: string,
    private readonly stream: NodeJS.WriteStream = process.stderr,
  ) {}

  show(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (this.stream.isTTY) this.stream.write(`\r\u001b[K${this.label}: ${text}`);
    else this.#showNowAndThen(text);
  }

  /** The same with a bar before it. */
  showShare(done: number, all: number, text: string): void {
    const filled = Math.round((BAR_WIDTH * done) / Math.max(all, 1));
    this.show(`[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${all} ${text}`);
  }

  #showNowAndThen(text: string): void {
    if (Date.now() - this.#lineAt < LINE_EVERY_MS) return;
    this.#lineAt = Date.now();
    this.stream.write(`${this.label}: ${text}\n`);
  }
}

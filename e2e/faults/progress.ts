/** One line on standard error that says where a run is. */
export class Progress {
  #last = '';

  constructor(
    private readonly label: string,
    private readonly stream: NodeJS.WriteStream = process.stderr,
  ) {}

  show(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (this.stream.isTTY) this.stream.write(`\r\u001b[K${this.label}: ${text}`);
  }

  /** What stays on the screen. */
  note(text: string): void {
    this.stream.write(`${this.stream.isTTY ? '\r\u001b[K' : ''}${this.label}: ${text}\n`);
  }
}

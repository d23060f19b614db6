import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../failures/interrupted';
import { UsageError } from '../failures/usage-error';
import { readStream } from './read-stream';

export interface PromptOptions {
  readonly input: NodeJS.ReadStream;
  /** Where questions go: stderr, so that stdout has results alone. */
  readonly output: NodeJS.WriteStream;
  /** Asked when there is a question: flags are known by then. */
  readonly isAllowed: () => boolean;
}

/** Asks a person, and fails with the flag to pass instead where there is none. */
export class Prompt {
  constructor(private readonly options: PromptOptions) {}

  /** Whether there is somebody to ask. */
  get canAsk(): boolean {
    return this.options.isAllowed() && this.options.input.isTTY;
  }

  /** Yes or no; no unless it says yes. @throws UsageError if nobody can be asked. */
  async confirm(question: string, instead: string): Promise<boolean> {
    this.#requirePerson(question, instead);
    const reader = createInterface({
      input: this.options.input,
      output: this.options.output,
      terminal: true,
    });
    return /^y(es)?$/i.test(await answerTo(reader, `${question} [y/N] `));
  }

  /** A text that is not shown while it is typed. @throws UsageError if nobody can be asked. */
  async askHidden(question: string, instead: string): Promise<string> {
    this.#requirePerson(question, instead);
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    // From here on the terminal itself echoes nothing: only now may it look as if one could type.
    const reader = createInterface({ input: this.options.input, output: nowhere, terminal: true });
    this.options.output.write(`${question} `);
    try {
      return await answerTo(reader, '');
    } finally {
      this.options.output.write('\n');
    }
  }

  /** All of stdin. @throws UsageError at a terminal, where nothing would come. */
  async readInput(flag: string): Promise<string> {
    if (this.options.input.isTTY) {
      throw new UsageError(
        `${flag} reads stdin, which is the terminal.`,
        `Pipe it in: … | hookferry … ${flag}`,
      );
    }
    return await readStream(this.options.input);
  }

  #requirePerson(question: string, instead: string): void {
    if (!this.canAsk) throw new UsageError(`This question needs a terminal: ${question}`, instead);
  }
}

/** @throws Interrupted at Ctrl-C, which the reader takes as a key, so that no signal comes, and at the end of input. */
async function answerTo(reader: Interface, question: string): Promise<string> {
  try {
    return await new Promise<string>((resolve, reject) => {
      reader.once('SIGINT', () => reject(new Interrupted()));
      reader.once('close', () => reject(new Interrupted()));
      reader.question(question, (answer) => resolve(answer.trim()));
    });
  } finally {
    reader.close();
  }
}

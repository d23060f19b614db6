import { type FileHandle, open } from 'node:fs/promises';
import type { AcknowledgedEvent } from './ledger';

const SYNC_EVERY_MS = 50;

/** The list, outside of the service, of what it has acknowledged: a line each, synced to disk in groups. */
export class AcknowledgedFile {
  #lines: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  private constructor(
    private readonly file: FileHandle,
    private readonly path: string,
  ) {
    this.#timer = setInterval(() => this.#flush(), SYNC_EVERY_MS);
  }

  static async create(path: string): Promise<AcknowledgedFile> {
    return new AcknowledgedFile(await open(path, 'w'), path);
  }

  add(event: AcknowledgedEvent): void {
    this.#lines.push(`${JSON.stringify(event)}\n`);
  }

  /** Ends it, and reads it back. */
  async close(): Promise<Map<string, AcknowledgedEvent>> {
    clearInterval(this.#timer);
    this.#flush();
    await this.#writing;
    await this.file.close();
    return await readAcknowledged(this.path);
  }

  #flush(): void {
    const lines = this.#lines.splice(0);
    if (lines.length === 0) return;
    this.#writing = this.#write(this.#writing, lines.join(''));
  }

  async #write(before: Promise<void>, text: string): Promise<void> {
    await before;
    await this.file.appendFile(text);
    await this.file.datasync();
  }
}

async function readAcknowledged(path: string): Promise<Map<string, AcknowledgedEvent>> {
  const file = await open(path);
  const events = new Map<string, AcknowledgedEvent>();
  for await (const line of file.readLines()) {
    const event = JSON.parse(line) as AcknowledgedEvent;
    events.set(event.marker, event);
  }
  return events;
}

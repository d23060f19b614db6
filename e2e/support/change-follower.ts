import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { components } from '@hookferry/client';
import { until } from './until';

export type StreamedChange = components['schemas']['StreamedChange'];

/** Somebody who follows `GET /v1/stream` over one connection, and remembers all that came. */
export class ChangeFollower {
  readonly changes: StreamedChange[] = [];
  #hasEnded = false;
  readonly #close: () => void;

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    const request = get(url, { headers }, (response) => this.#read(response));
    request.once('close', () => {
      this.#hasEnded = true;
    });
    // It was cut off, which some tests are about.
    request.on('error', () => undefined);
    this.#close = () => request.destroy();
  }

  /** Resolves when nothing is missing from there on. */
  static async open(
    baseUrl: string,
    key: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ChangeFollower> {
    const all = { authorization: `Bearer ${key}`, ...headers };
    const follower = new ChangeFollower(`${baseUrl}/v1/stream`, all);
    await follower.waitFor(({ event }) => event === 'ready');
    return follower;
  }

  async waitFor(isWished: (change: StreamedChange) => boolean): Promise<StreamedChange> {
    const seen = () => `nothing by ${String(isWished)}; the last: ${JSON.stringify(this.changes.slice(-3))}`;
    return await until(async () => this.changes.find(isWished), seen);
  }

  async waitForEnd(): Promise<void> {
    await until(async () => (this.#hasEnded ? true : undefined));
  }

  /** What came of a delivery, in its order. */
  ofDelivery(id: string): string[] {
    return this.changes.flatMap((change) => {
      if (change.event !== 'delivery' || change.data.delivery.id !== id) return [];
      const { status = '', attempt_count = '' } = change.data.delivery;
      return [[change.data.change, status, attempt_count].filter((known) => known !== '').join(' ')];
    });
  }

  /** Where to go on. */
  get place(): string {
    return this.changes.findLast((change) => change.event !== 'end')?.id ?? '';
  }

  close(): void {
    this.#close();
  }

  #read(response: IncomingMessage): void {
    let fields: Record<string, string> = {};
    response.on('error', () => undefined);
    const lines = createInterface({ input: response });
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      const [name = '', ...value] = line.split(': ');
      if (name !== '') fields[name] = value.join(': ');
      else {
        if (fields.data !== undefined) {
          this.changes.push({ ...fields, data: JSON.parse(fields.data) } as unknown as StreamedChange);
        }
        fields = {};
      }
    });
  }
}

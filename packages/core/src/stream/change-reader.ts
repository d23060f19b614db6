import type { StreamEnd } from '../domain/signals/requests';
import { type Change, type ChangeEntry, endpointOf } from './redis-change-store';

/** The messages to a follower of an account's changes. */
export type StreamMessage =
  /** From here on nothing is missing. */
  | { readonly kind: 'ready'; readonly id: string }
  | { readonly kind: 'change'; readonly id: string; readonly change: Change }
  | { readonly kind: 'end'; readonly reason: EndReason };

/** `lost`: the reader hung up, and gets nothing. */
export type EndReason = StreamEnd | 'lost';

export interface ChangeReaderOptions {
  /** Only changes about this endpoint, or all. */
  readonly endpointId: string | undefined;
  /** It resumes after this cursor. */
  readonly after: string | undefined;
  /** Nothing is sent after that. */
  readonly onEnd: () => void;
}

/** After these ends, waiting messages are dropped. */
const TELLS_NO_MORE: readonly (EndReason | undefined)[] = [
  'too_slow',
  'lost',
  'unauthenticated',
  'unverified',
];

/** The most messages that wait for a reader: more than are kept of an account. */
export const MOST_WAITING = 1_500;

/** A client that follows an account's changes. A slow reader gets only the end. */
export class ChangeReader {
  readonly after: string | undefined;
  /** The cursor of its last message; `undefined` before it is ready. */
  #cursor: string | undefined;
  #messages: StreamMessage[] = [];
  #end: EndReason | undefined;
  #wake: () => void = () => {};

  constructor(private readonly options: ChangeReaderOptions) {
    this.after = options.after;
  }

  /** Whether it knows that nothing is missing from there on. */
  get isReady(): boolean {
    return this.#cursor !== undefined;
  }

  get ended(): EndReason | undefined {
    return this.#end;
  }

  /** @param id the cursor that it resumes from. */
  begin(id: string): void {
    this.#cursor = id;
    this.#say({ kind: 'ready', id });
  }

  /** The changes before are gone. */
  reset(id: string): void {
    this.#cursor = id;
    this.#say({ kind: 'change', id, change: { kind: 'reset' } });
  }

  /** No change is sent twice. */
  offer({ id, change }: ChangeEntry): void {
    if (this.#cursor === undefined || !isLater(id, this.#cursor)) return;
    this.#cursor = id;
    if (change === undefined) return;
    const concerned = endpointOf(change);
    if (concerned === undefined || concerned === (this.options.endpointId ?? concerned)) {
      this.#say({ kind: 'change', id, change });
    }
  }

  end(reason: EndReason): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    if (TELLS_NO_MORE.includes(reason)) this.#messages = [];
    this.#messages.push({ kind: 'end', reason });
    this.#wake();
    this.options.onEnd();
  }

  /** All messages until the end. */
  async *messages(): AsyncGenerator<StreamMessage, void> {
    for (;;) {
      const messages = this.#messages;
      this.#messages = [];
      for (const message of messages) {
        // Messages that were taken are not sent yet.
        if (TELLS_NO_MORE.includes(this.#end) && message.kind !== 'end') continue;
        yield message;
        if (message.kind === 'end') return;
      }
      if (this.#messages.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #say(message: StreamMessage): void {
    if (this.#end !== undefined) return;
    if (this.#messages.length >= MOST_WAITING) return this.end('too_slow');
    this.#messages.push(message);
    this.#wake();
  }
}

/** Cursors are two numbers: milliseconds, and one that counts within them. */
function isLater(cursor: string, other: string): boolean {
  const [time = 0, count = 0] = cursor.split('-').map(Number);
  const [otherTime = 0, otherCount = 0] = other.split('-').map(Number);
  return time > otherTime || (time === otherTime && count > otherCount);
}

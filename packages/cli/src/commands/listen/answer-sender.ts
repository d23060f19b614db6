import type { Client } from '@hookferry/client';
import { pause } from '../../pause';
import type { ListenerAnswer } from '../../resources';

export interface AnswerSenderOptions {
  readonly client: Client;
  readonly listenerId: string;
  readonly stream: string;
  /** When answers can't be passed on any more: the stream is over. */
  readonly onBroken: () => void;
}

/** The service takes a listener for gone after three times this. */
const SIGN_OF_LIFE_EVERY_MS = 5_000;
// With the beginning of a body each, they fit into one request.
const AT_ONCE = 2;
const FAULTS_IN_A_ROW = 3;
const AFTER_FAULT_MS = 500;

/** Sends the results of deliveries to the service: at once, and several together when they come fast. */
export class AnswerSender {
  readonly #waiting: ListenerAnswer[] = [];
  readonly #end = new AbortController();
  #isSending = false;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: AnswerSenderOptions) {
    this.#timer = setInterval(() => void this.#send(), SIGN_OF_LIFE_EVERY_MS);
  }

  add(answer: ListenerAnswer): void {
    this.#waiting.push(answer);
    void this.#send();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#end.abort();
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      do await this.#post(this.#waiting.splice(0, AT_ONCE));
      while (this.#waiting.length > 0 && !this.#end.signal.aborted);
    } catch {
      // The stream is broken, too, or will soon be. The service hands over deliveries without an answer again.
      if (!this.#end.signal.aborted) this.options.onBroken();
    } finally {
      this.#isSending = false;
    }
  }

  async #post(answers: readonly ListenerAnswer[]): Promise<void> {
    const { client, listenerId, stream } = this.options;
    const { signal } = this.#end;
    for (let faults = 1; ; faults += 1) {
      try {
        await client.POST('/v1/listeners/{id}/answers', {
          params: { path: { id: listenerId } },
          body: { stream, answers: [...answers] },
          signal,
        });
        return;
      } catch (error) {
        if (faults === FAULTS_IN_A_ROW || signal.aborted) throw error;
        await pause(AFTER_FAULT_MS, signal);
      }
    }
  }
}

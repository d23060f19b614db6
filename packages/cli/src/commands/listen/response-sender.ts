import type { Client } from '@hookferry/client';
import { pause } from '../../pause';
import type { ListenerResponse } from '../../resources';

export interface ResponseSenderOptions {
  readonly client: Client;
  readonly listenerId: string;
  readonly stream: string;
  /** When responses can't be passed on any more: the stream is over. */
  readonly onBroken: () => void;
}

/** The service takes a listener for gone after three times this. */
const SIGN_OF_LIFE_EVERY_MS = 5_000;
// With the beginning of a body each, they fit into one request.
const AT_ONCE = 2;
const FAULTS_IN_A_ROW = 3;
const AFTER_FAULT_MS = 500;

/** Sends the results of deliveries to the service: at once, and several together when they come fast. */
export class ResponseSender {
  readonly #waiting: ListenerResponse[] = [];
  readonly #end = new AbortController();
  #isSending = false;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: ResponseSenderOptions) {
    this.#timer = setInterval(() => void this.#send(), SIGN_OF_LIFE_EVERY_MS);
  }

  add(response: ListenerResponse): void {
    this.#waiting.push(response);
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
      // The stream is broken, too, or will soon be. The service hands over deliveries without a response again.
      if (!this.#end.signal.aborted) this.options.onBroken();
    } finally {
      this.#isSending = false;
    }
  }

  async #post(responses: readonly ListenerResponse[]): Promise<void> {
    const { client, listenerId, stream } = this.options;
    const { signal } = this.#end;
    for (let faults = 1; ; faults += 1) {
      try {
        await client.POST('/v1/listeners/{id}/responses', {
          params: { path: { id: listenerId } },
          body: { stream, responses: [...responses] },
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

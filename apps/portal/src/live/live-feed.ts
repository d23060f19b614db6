import { type LiveMessage, messageOf } from './live-message';
import { readStream, StreamRefused } from './read-stream';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const POLL_EVERY_MS = 5_000;

/** paused → connecting → live, and back; `polling`: this service or session has no stream. */
export type LiveStatus = 'paused' | 'connecting' | 'live' | 'polling';

interface LiveFeedOptions {
  /** Of the stream. */
  readonly address: string;
  /** The credentials of a request; undefined: there are none at the moment. */
  readonly headers: () => Readonly<Record<string, string>> | undefined;
  readonly onUnauthenticated: () => void;
}

type Listener = (message: LiveMessage) => void;

/** Tells listeners of changes: by the API's stream, or by a regular `poll` while there is no stream. */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  #status: LiveStatus = 'paused';
  #running: AbortController | undefined;
  #lastEventId: string | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  readonly read = (): LiveStatus => this.#status;

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  readonly listen = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Goes on after the last change that came, if it was running before. */
  start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    this.#setStatus('connecting');
    const { signal } = this.#running;
    void this.#keepReading(signal);
    void this.#keepPolling(signal);
  }

  /** No request is made any more. */
  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#setStatus('paused');
  }

  /** For another account: of that, nothing is to be caught up on. */
  startAnew(): void {
    const wasRunning = this.#running !== undefined;
    this.stop();
    this.#lastEventId = undefined;
    if (wasRunning) this.start();
  }

  async #keepReading(signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const error = await this.#readOnce(signal).catch((failure: unknown) => failure);
      if (signal.aborted) return;
      if (error instanceof StreamRefused && this.#isFinal(error)) return;
      if (this.#status === 'live') pauseMs = FIRST_PAUSE_MS;
      this.#setStatus('connecting');
      // Not all pages at the same moment, when a process was stopped that had many.
      await pause(pauseMs * (0.5 + Math.random() / 2), signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** True if another try makes no sense. */
  #isFinal({ status }: StreamRefused): boolean {
    if (status === 401) this.#options.onUnauthenticated();
    if (status === 403 || status === 404) this.#setStatus('polling');
    return [401, 403, 404].includes(status);
  }

  async #readOnce(signal: AbortSignal): Promise<void> {
    const headers = {
      ...this.#options.headers(),
      ...(this.#lastEventId !== undefined && { 'last-event-id': this.#lastEventId }),
    };
    for await (const event of readStream({ address: this.#options.address, headers, signal })) {
      if (event.id !== undefined) this.#lastEventId = event.id;
      const message = messageOf(event);
      if (message?.kind === 'ready') this.#setStatus('live');
      if (message) this.#emit(message);
    }
  }

  async #keepPolling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(POLL_EVERY_MS, signal);
      if (!signal.aborted && this.#status !== 'live') this.#emit({ kind: 'poll' });
    }
  }

  #emit(message: LiveMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  #setStatus(status: LiveStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    for (const watcher of this.#watchers) watcher();
  }
}

/** Resolves early when the signal is aborted. */
async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal.addEventListener('abort', end);
  });
}

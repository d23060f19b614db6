import { type LiveMessage, messageOf } from './live-message';
import { readEvents } from './read-events';

const ADDRESS = '/v1/stream';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
// The service says something every 15 s.
const LONGEST_SILENCE_MS = 40_000;
const POLL_EVERY_MS = 5_000;

/** paused → connecting → live, and back; `polling`: this service or session has no stream. */
export type LiveStatus = 'paused' | 'connecting' | 'live' | 'polling';

interface LiveFeedOptions {
  /** What a request says about who asks. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly onUnauthenticated: () => void;
}

type Listener = (message: LiveMessage) => void;

/** What changes at the service, told to whoever listens: by its stream, and while that is not there by a regular `poll`. */
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
      const ending = await this.#readOnce(signal).catch(() => 'broken' as const);
      if (signal.aborted) return;
      if (ending === 'refused') return;
      if (ending === 'unavailable') {
        this.#setStatus('polling');
        return;
      }
      if (this.#status === 'live') pauseMs = FIRST_PAUSE_MS;
      this.#setStatus('connecting');
      // Not all pages at the same moment, when a process was stopped that had many.
      await pause(pauseMs * (0.5 + Math.random() / 2), signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  async #readOnce(signal: AbortSignal): Promise<'ended' | 'broken' | 'refused' | 'unavailable'> {
    const silence = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onSignOfLife = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), LONGEST_SILENCE_MS);
    };
    onSignOfLife();
    try {
      const headers = {
        ...this.#options.headers(),
        ...(this.#lastEventId !== undefined && { 'last-event-id': this.#lastEventId }),
      };
      const response = await fetch(ADDRESS, { headers, signal: AbortSignal.any([signal, silence.signal]) });
      if (response.status === 401) {
        this.#options.onUnauthenticated();
        return 'refused';
      }
      if (response.status === 404 || response.status === 403) return 'unavailable';
      if (!response.ok || !response.body) return 'broken';
      for await (const event of readEvents(response.body, onSignOfLife)) {
        if (event.id !== undefined) this.#lastEventId = event.id;
        const message = messageOf(event);
        if (message?.kind === 'ready') this.#setStatus('live');
        if (message) this.#tell(message);
      }
      return 'ended';
    } finally {
      clearTimeout(timer);
    }
  }

  async #keepPolling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(POLL_EVERY_MS, signal);
      if (!signal.aborted && this.#status !== 'live') this.#tell({ kind: 'poll' });
    }
  }

  #tell(message: LiveMessage): void {
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

import { type Client, type ListenerLine, WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { type Cli, clientOf } from '../../cli';
import { CheckFailed } from '../../failures/check-failed';
import { pause } from '../../pause';
import type { Profile } from '../../profiles/profiles';
import type { ListenerResponse, NewListener } from '../../resources';
import { type Forwarded, type ForwardedRequest, forward } from './forward';
import { printForwarded } from './print-forwarded';
import { ResponseSender } from './response-sender';
import { shownUrl } from './shown-url';

export interface ListenerSettings {
  readonly listener: NewListener & { readonly secret: string };
  /** The time from which it gets events, when it connects for the first time. */
  readonly since: string | undefined;
  /** How many deliveries may be under way at the same time. */
  readonly parallel: number | undefined;
}

const RETRY_AFTER_MS = [500, 1_000, 2_000, 5_000] as const;
// Other refusals are final.
const PASSING = new Set(['replays_running', 'not_found', 'conflict', 'rate_limited', 'request_timeout']);
const MOST_RESPONSE_BYTES = 64 * 1024;

/** Listens until it is stopped: connects, forwards deliveries, and connects again after a broken connection. */
export class Listening {
  readonly #client: Client;
  #id: string | undefined;
  #secret: string;
  #since: string | undefined;
  #faults = 0;

  constructor(
    private readonly url: URL,
    private readonly settings: ListenerSettings,
    connection: Profile,
    private readonly cli: Cli,
  ) {
    // It tries again by itself, and says so.
    this.#client = clientOf(connection, cli, { retries: 0 });
    this.#since = settings.since;
    this.#secret = settings.listener.secret;
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#tryOnce(signal);
    } finally {
      await this.#leave(signal);
    }
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    try {
      const id = await this.#make();
      await this.#listen(id, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!this.#isPassing(error)) throw error;
      this.cli.output.note(`Not connected: ${(error as Error).message}`);
    }
    if (signal.aborted) return;
    const delayMs = RETRY_AFTER_MS[Math.min(this.#faults, RETRY_AFTER_MS.length - 1)] ?? 0;
    this.#faults += 1;
    this.cli.output.note('Connecting again…');
    await pause(delayMs, signal);
  }

  // An error at the start goes to the user.
  #isPassing(error: unknown): boolean {
    if (this.#id === undefined) return false;
    if (error instanceof WebhooksConnectionError) return true;
    return error instanceof WebhooksApiError && (error.status >= 500 || PASSING.has(error.code));
  }

  // Each time: one that was away for too long is made again by it, and gets what it missed.
  async #make(): Promise<string> {
    const since = this.#since === undefined ? {} : { since: this.#since };
    const { id, secret } = await this.#client.POST('/v1/listeners', {
      body: { ...this.settings.listener, ...since },
    });
    this.#id = id;
    this.#secret = secret ?? '';
    this.#since = undefined;
    return id;
  }

  async #listen(id: string, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    let sender: ResponseSender | undefined;
    const { parallel } = this.settings;
    try {
      const query = parallel === undefined ? {} : { parallel };
      for await (const line of this.#client.streamListener(id, query, { signal: both })) {
        if (line.type === 'ready') sender = this.#begin(id, line.stream ?? '', () => over.abort());
        if (line.type === 'delivery' && sender) void this.#forward(line, sender, signal);
        if (line.type === 'end') return this.#onEnd(line.reason);
      }
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      sender?.stop();
    }
  }

  #begin(listenerId: string, stream: string, onBroken: () => void): ResponseSender {
    this.#faults = 0;
    const what = this.settings.listener.events?.join(', ') ?? 'all events';
    this.cli.output.note(`Ready: ${what} → ${shownUrl(this.url)}   Ctrl-C ends it.`);
    return new ResponseSender({ client: this.#client, listenerId, stream, onBroken });
  }

  async #forward(line: ListenerLine, sender: ResponseSender, signal: AbortSignal): Promise<void> {
    const request = requestOf(line);
    // Deliveries that are being forwarded when it stops get no response.
    const forwarded = await forward(this.url, request, signal).catch(() => undefined);
    if (forwarded === undefined) return;
    sender.add(responseOf(line.exchange ?? '', forwarded));
    await printForwarded(this.cli.output, request, forwarded, this.#secret);
  }

  #onEnd(reason: ListenerLine['reason']): void {
    if (reason === 'removed') throw new CheckFailed('The listener was deleted.');
    if (reason !== 'replaced') return;
    throw new CheckFailed(
      `Another "hookferry listen" has taken over the listener "${this.settings.listener.name}". To run both, give one of them --name NAME`,
    );
  }

  /** Gone at once, if that can still be said; else a minute later. */
  async #leave(signal: AbortSignal): Promise<void> {
    if (this.#id === undefined || !signal.aborted) return;
    const params = { path: { id: this.#id } };
    await this.#client
      .DELETE('/v1/webhooks/{id}', { params })
      .catch(() =>
        this.cli.output.note(
          'The API could not be reached to end the listener. It ends by itself within a minute.',
        ),
      );
  }
}

function requestOf(line: ListenerLine): ForwardedRequest {
  const {
    headers = {},
    body_base64: body = '',
    timeout_ms: timeoutMs = 0,
    response_bytes: wanted = 0,
  } = line;
  const responseBytes = Math.min(wanted, MOST_RESPONSE_BYTES);
  return { headers, body: Buffer.from(body, 'base64'), timeoutMs, responseBytes };
}

function responseOf(exchange: string, forwarded: Forwarded): ListenerResponse {
  if (forwarded.kind === 'failed') {
    const { outcome, error } = forwarded;
    return { exchange, outcome, error: error.slice(0, 500) };
  }
  const { status, headers, body, firstByteMs } = forwarded;
  return {
    exchange,
    status,
    headers: shownHeaders(headers),
    body_base64: Buffer.from(body).toString('base64'),
    first_byte_ms: firstByteMs,
  };
}

const MAX_HEADERS = 100;
const MAX_NAME = 200;
const MAX_VALUE = 8_192;

// The service takes no more than that.
function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const fitting = Object.entries(headers).filter(
    ([name, value]) => name.length <= MAX_NAME && value.length <= MAX_VALUE,
  );
  return Object.fromEntries(fitting.slice(0, MAX_HEADERS));
}

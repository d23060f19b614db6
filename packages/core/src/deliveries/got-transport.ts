import type { Duplex } from 'node:stream';
import { got, type Request, type Response } from 'got';
import { type Guard, GuardedHttpAgent, GuardedHttpsAgent } from '../egress/guarded-agents';
import { classifyNetworkError } from './classify-network-error';
import type { DeliveryRequest, SendResult, Transport } from './transport';

export interface GotTransportOptions {
  /** From the first DNS query to the last byte of the response's body. */
  readonly timeoutMs: number;
  /** Says where a delivery may go. */
  readonly guard: Guard;
}

/** How much of a response is read; what is longer is cut off by closing the connection. */
const MAX_RESPONSE_BYTES = 16 * 1024;
/** How much of it is kept for the record. */
const KEPT_RESPONSE_BYTES = 1024;
const IDLE_SOCKET_MS = 60_000;
const IDLE_SOCKETS_PER_ORIGIN = 256;

/** Delivers over HTTP(S) with kept-alive connections. One try, no redirects, no decompression, bounded memory. */
export class GotTransport {
  readonly #agents;
  readonly #timeoutMs: number;
  readonly #client;

  constructor({ timeoutMs, guard }: GotTransportOptions) {
    this.#timeoutMs = timeoutMs;
    this.#agents = {
      http: new GuardedHttpAgent(guard, AGENT_OPTIONS),
      https: new GuardedHttpsAgent(guard, { ...AGENT_OPTIONS, ...TLS_OPTIONS }),
    };
    this.#client = got.extend({
      agent: this.#agents,
      method: 'POST',
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      http2: false,
      enableUnixSockets: false,
    });
  }

  readonly send: Transport = (request, signal) =>
    new Exchange(this.#open(request), this.#timeoutMs, signal).result;

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #open({ url, headers, body }: DeliveryRequest): Request {
    return this.#client.stream(url, { headers, body });
  }
}

const AGENT_OPTIONS = {
  keepAlive: true,
  maxFreeSockets: IDLE_SOCKETS_PER_ORIGIN,
  timeout: IDLE_SOCKET_MS,
  scheduling: 'lifo',
} as const;

const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  // Said here, so that NODE_TLS_REJECT_UNAUTHORIZED in the environment can't switch it off.
  rejectUnauthorized: true,
  // Of a receiver whose session is known, the next connection costs half the handshake.
  maxCachedSessions: 1_000,
} as const;

/** One request under way. The first of these ends it: the response's end, its cap, an error, the deadline, an abort. */
class Exchange {
  readonly result: Promise<SendResult>;
  #settle!: (result: SendResult) => void;
  #response: Response | undefined;
  #bytesRead = 0;
  readonly #kept: Buffer[] = [];
  readonly #deadline: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#fail('network_error', 'The attempt was interrupted.');

  constructor(
    private readonly stream: Request,
    timeoutMs: number,
    private readonly signal: AbortSignal,
  ) {
    this.result = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // A deadline of our own: a receiver that drips bytes trips none of the HTTP client's.
    this.#deadline = setTimeout(
      () => this.#fail(this.#timeoutReason(), `No full answer in ${timeoutMs} ms.`),
      timeoutMs,
    );
    signal.addEventListener('abort', this.#onAbort);
    this.#listen();
    // An abort that came before is not announced any more.
    if (signal.aborted) this.#onAbort();
  }

  #listen(): void {
    this.stream.on('response', (response: Response) => {
      this.#response = response;
    });
    // After a 101 the socket is nobody's: neither got nor the agent would ever close it.
    this.stream.on('upgrade', (response: Response, socket: Duplex) => {
      this.#response = response;
      socket.destroy();
      this.#finish();
    });
    this.stream.on('data', (chunk: Buffer) => this.#take(chunk));
    this.stream.on('end', () => this.#finish());
    this.stream.on('error', (error: Error) => this.#onError(error));
  }

  #take(chunk: Buffer): void {
    if (this.#bytesRead < KEPT_RESPONSE_BYTES)
      this.#kept.push(chunk.subarray(0, KEPT_RESPONSE_BYTES - this.#bytesRead));
    this.#bytesRead += chunk.length;
    if (this.#bytesRead > MAX_RESPONSE_BYTES) this.#finish();
  }

  // Once there is a status, it decides, even if the body broke off.
  #onError(error: Error): void {
    if (this.#response) return this.#finish();
    this.#fail(classifyNetworkError(error), error.message);
  }

  #finish(): void {
    if (!this.#response) return this.#fail('protocol_error', 'The connection ended without an answer.');
    const { statusCode, headers } = this.#response;
    this.#end({
      kind: 'answered',
      status: statusCode,
      retryAfter: headers['retry-after'],
      body: Buffer.concat(this.#kept).toString('utf8'),
    });
  }

  #fail(reason: Extract<SendResult, { kind: 'failed' }>['reason'], error: string): void {
    this.#end({ kind: 'failed', reason, error });
  }

  #timeoutReason(): 'connect_timeout' | 'response_timeout' {
    return this.stream.timings?.phases.tcp === undefined ? 'connect_timeout' : 'response_timeout';
  }

  #end(result: SendResult): void {
    clearTimeout(this.#deadline);
    this.signal.removeEventListener('abort', this.#onAbort);
    if (!this.stream.readableEnded) this.stream.destroy();
    this.#settle(result);
  }
}

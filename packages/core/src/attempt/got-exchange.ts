import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Request, Response } from 'got';
import { PROXY_FAULT_CODE } from '../egress/proxy-errors';
import { hostOf } from '../kernel/host-of';
import type { AttemptTimings } from '../model/attempt';
import { keptHeaders } from '../model/kept-headers';
import { limitPreamble } from './limit-preamble';
import { classifyNetworkError, describeNetworkError } from './network-error';
import { type ConnectionPhase, NewConnection } from './new-connection';
import type { DeliveryRequest, SendResult, TransportFailure } from './transport';

export interface ExchangeLimits {
  /** For looking up the name, connecting and the TLS handshake together. */
  readonly connectTimeoutMs: number;
  /** How much of a response's body is read; what is longer is cut off by closing the connection. */
  readonly readBytes: number;
  /** How much of it is kept for the record. At most `readBytes`. */
  readonly keptBytes: number;
}

export interface ExchangeInput {
  readonly request: DeliveryRequest;
  /** Starts to send it; over a new connection where it says so. */
  readonly open: (request: DeliveryRequest, isFresh: boolean) => Request;
  /** For all of it. */
  readonly timeoutMs: number;
  readonly limits: ExchangeLimits;
  readonly signal: AbortSignal;
}

/** What it is when a time-out comes in a phase, and what has not come by then. */
const STUCK: Readonly<Record<ConnectionPhase, readonly [TransportFailure, string]>> = {
  resolving: ['dns_error', 'address'],
  connecting: ['connect_timeout', 'connection'],
  securing: ['tls_error', 'TLS handshake'],
  ready: ['response_timeout', 'full answer'],
};

// It can quote what the receiver has sent: all the names in its certificate, of which there may be thousands.
const MAX_ERROR_LENGTH = 500;

// What comes along with a body, which its receiver may blow up by what it says with each byte of it. Those that send it in
// tiny pieces, each with its length and in a record of TLS, stay far below.
const MAX_AROUND_BODY_BYTES = 128 * 1024;
const MAX_PADDING = 32;

/** How a connection ends that its receiver has closed. */
const HUNG_UP = new Set<string | undefined>(['ECONNRESET', 'EPIPE']);

/** One request under way. The first of these ends it: the response's end, its cap, an error, a time-out, an abort. */
export class Exchange {
  readonly result: Promise<SendResult>;
  #settle!: (result: SendResult) => void;
  #stream: Request;
  #socket: Socket | undefined;
  /** What came over the connection before this request. */
  #bytesBefore = 0;
  /** Absent for a connection that was kept alive. */
  #newConnection: NewConnection | undefined;
  #response: Response | undefined;
  #stopWatching = (): void => {};
  #bytesRead = 0;
  readonly #kept: Buffer[] = [];
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  /** How much of the whole time is left when the timer goes off. */
  #restMs: number;
  readonly #onTimer = (): void => this.#checkTime();
  readonly #onAbort = (): void => this.#fail('network_error', 'The attempt was interrupted.');

  constructor(private readonly input: ExchangeInput) {
    this.result = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const { timeoutMs, limits, signal } = input;
    const connectMs = Math.min(limits.connectTimeoutMs, timeoutMs);
    this.#restMs = timeoutMs - connectMs;
    this.#timer = setTimeout(this.#onTimer, connectMs);
    signal.addEventListener('abort', this.#onAbort);
    this.#stream = this.#open(false);
    // An abort that came before is not announced any more.
    if (signal.aborted) this.#onAbort();
  }

  #open(isFresh: boolean): Request {
    const { input } = this;
    const stream = input.open(input.request, isFresh);
    stream.once('socket', (socket: Socket) => this.#onSocket(socket));
    stream.on('response', (response: Response) => {
      this.#stopWatching();
      this.#response = response;
    });
    // After a 101 the socket is nobody's: neither got nor the agent would ever close it.
    stream.on('upgrade', (response: Response, socket: Duplex) => {
      this.#response = response;
      socket.destroy();
      this.#finish();
    });
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => this.#finish());
    stream.on('error', (error: Error) => this.#onError(this.#causeOf(error)));
    return stream;
  }

  #onSocket(socket: Socket): void {
    this.#socket = socket;
    this.#bytesBefore = socket.bytesRead;
    this.#stopWatching = limitPreamble(socket, () =>
      this.#fail('protocol_error', 'Too much came before an answer.'),
    );
    if (this.#stream.reusedSocket) return;
    const isNamed = isIP(hostOf(new URL(this.input.request.url))) === 0;
    this.#newConnection = new NewConnection(socket, isNamed, performance.now());
  }

  #take(chunk: Buffer): void {
    const { readBytes, keptBytes } = this.input.limits;
    if (this.#bytesRead < keptBytes) this.#kept.push(chunk.subarray(0, keptBytes - this.#bytesRead));
    this.#bytesRead += chunk.length;
    if (this.#bytesRead > readBytes || this.#isPadded()) this.#finish();
  }

  #isPadded(): boolean {
    const raw = (this.#socket?.bytesRead ?? 0) - this.#bytesBefore;
    return raw > MAX_AROUND_BODY_BYTES + MAX_PADDING * this.input.limits.readBytes;
  }

  // Who wrote onto a connection that was closed is told so; from Node.js 24 on it comes before the reason for that.
  #causeOf(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
    return error.code === 'ERR_SOCKET_CLOSED' ? (this.#socket?.errored ?? error) : error;
  }

  // Once there is a status, it decides, even if the body broke off.
  #onError(error: NodeJS.ErrnoException): void {
    if (this.#response) return this.#finish();
    if (this.#wasStale(error)) return this.#sendAgain();
    if (error.code === PROXY_FAULT_CODE) return this.#end({ kind: 'unsent', error: error.message });
    this.#fail(classifyNetworkError(error), describeNetworkError(error));
  }

  // The receiver closed a connection that was kept alive just as we used it: that is nobody's fault.
  #wasStale({ code }: NodeJS.ErrnoException): boolean {
    return (
      this.#stream.reusedSocket === true && HUNG_UP.has(code) && this.#socket?.bytesRead === this.#bytesBefore
    );
  }

  // Over a new connection, which is not reused: so it happens no more than once.
  #sendAgain(): void {
    const { timeoutMs, limits } = this.input;
    const leftMs = Math.max(timeoutMs - (performance.now() - this.#startedAt), 0);
    const connectMs = Math.min(limits.connectTimeoutMs, leftMs);
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.#restMs = leftMs - connectMs;
    this.#timer = setTimeout(this.#onTimer, connectMs);
    this.#stream = this.#open(true);
  }

  // One timer, which goes off at the end of the time for connecting: nearly all requests are over by then.
  #checkTime(): void {
    const phase = this.#phase();
    if (phase === 'ready' && this.#restMs > 0) {
      this.#timer = setTimeout(this.#onTimer, this.#restMs);
      this.#restMs = 0;
      return;
    }
    const [reason, missing] = STUCK[phase];
    this.#fail(reason, `No ${missing} in ${Math.round(this.input.timeoutMs - this.#restMs)} ms.`);
  }

  #phase(): ConnectionPhase {
    if (this.#stream.reusedSocket) return 'ready';
    return this.#newConnection?.phase ?? 'connecting';
  }

  #finish(): void {
    if (!this.#response) return this.#fail('protocol_error', 'The connection ended without an answer.');
    const { statusCode, headers } = this.#response;
    const wish = headers['webhook-delivery'];
    const kept = keptHeaders(headers);
    this.#end({
      kind: 'answered',
      status: statusCode,
      retryAfter: headers['retry-after'],
      wish: typeof wish === 'string' ? wish : undefined,
      ...(kept === undefined ? {} : { headers: kept }),
      body: this.#keptText(),
      timings: this.#timings(),
    });
  }

  // A character that was cut in two is left out.
  #keptText(): string {
    if (this.#bytesRead === 0) return '';
    const kept = Buffer.concat(this.#kept);
    return this.#bytesRead > kept.length ? new StringDecoder('utf8').write(kept) : kept.toString('utf8');
  }

  #timings(): AttemptTimings {
    const { response, upload = response } = this.#stream.timings ?? {};
    const connecting = this.#newConnection?.timings;
    if (response === undefined || upload === undefined) return { ...connecting };
    return { ...connecting, firstByteMs: Math.max(response - upload, 0) };
  }

  #fail(reason: TransportFailure, error: string): void {
    this.#end({
      kind: 'failed',
      reason,
      error: error.slice(0, MAX_ERROR_LENGTH),
      timings: this.#timings(),
    });
  }

  #end(result: SendResult): void {
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.input.signal.removeEventListener('abort', this.#onAbort);
    if (!this.#stream.readableEnded) this.#stream.destroy();
    this.#settle(result);
  }
}

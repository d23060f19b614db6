import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { TLSSocket } from 'node:tls';
import type { Request, Response } from 'got';
import { type AttemptTimings, keptHeaders, type TransportFailure } from '../domain/attempt';
import { hostOf } from '../domain/target-url';
import type { DeliveryRequest, Permission, SendResult } from '../domain/transport';
import { startPatience } from '../platform/timers';
import { PROXY_FAULT_CODE, type Route } from './egress/routes';

export interface ExchangeLimits {
  /** For the DNS lookup, connecting and the TLS handshake together. */
  readonly connectTimeoutMs: number;
  /** How much of a response's body is read. Closing the connection cuts off the rest. */
  readonly readBytes: number;
  /** How much of it is recorded. At most `readBytes`. */
  readonly keptBytes: number;
  /** How soon a kept-alive connection must break so that nothing has read its request. Milliseconds. Default: 5, for tests. */
  readonly staleWithinMs?: number;
}

export interface ExchangeInput {
  readonly request: DeliveryRequest;
  /** Starts to send it; over a new connection if `isFresh`. */
  readonly open: (request: DeliveryRequest, isFresh: boolean) => Request;
  /** By which its connections are opened. */
  readonly route: Pick<Route, 'addressOf'>;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly limits: ExchangeLimits;
  readonly signal: AbortSignal;
}

/** The failure when the time is over in a phase, and the part that is missing. */
const STUCK: Readonly<Record<ConnectionPhase, readonly [TransportFailure, string]>> = {
  resolving: ['dns_error', 'address'],
  connecting: ['connect_timeout', 'connection'],
  securing: ['tls_error', 'TLS handshake'],
  ready: ['response_timeout', 'full response'],
};

// The message can quote the receiver's certificate, which may have thousands of names.
const MAX_ERROR_LENGTH = 500;

// Bytes around a body, such as chunk lengths, with which a receiver may inflate the response. Receivers that
// send tiny pieces, each with its length and in a TLS record, stay far below.
const MAX_AROUND_BODY_BYTES = 128 * 1024;
const MAX_PADDING = 32;

/** The error codes of a connection that its receiver has closed. */
const HUNG_UP = new Set<string | undefined>(['ECONNRESET', 'EPIPE']);

/**
 * A receiver that closes a kept-alive connection at the moment of its next use is heard within the time that data takes to
 * it and back. This much later, something has read the request, and may have worked on it. Milliseconds.
 */
const STALE_WITHIN_MS = 5;
// A handshake that took longer than the way there and back was busy, or was repeated.
const MAX_ROUND_TRIP_MS = 200;
const roundTrips = new WeakMap<Socket, number>();

/**
 * Connecting may take seconds, during which this process' clocks may stand still. After this much of it a request asks
 * whether it still may begin; a shorter wait is no worse than one for Redis. Milliseconds.
 */
const CONNECTS_UNASKED_MS = 10;

/**
 * One running request. The first of these ends it: the response's end, its cap, an error, a time-out, an
 * abort.
 */
export class Exchange {
  readonly result: Promise<SendResult>;
  #settle!: (result: SendResult) => void;
  #stream: Request;
  #socket: Socket | undefined;
  /** Bytes read over the connection before this request. */
  #bytesBefore = 0;
  /** Absent for a connection that was kept alive. */
  #newConnection: NewConnection | undefined;
  /** When the request was written to a kept-alive connection. */
  #writtenAt = 0;
  /** Why it is sent again. */
  #staleError: NodeJS.ErrnoException | undefined;
  #isAsking = false;
  #response: Response | undefined;
  #stopWatching = (): void => {};
  #bytesRead = 0;
  readonly #kept: Buffer[] = [];
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  /** The rest of the whole time when the timer fires. */
  #restMs = 0;
  readonly #onTimer = (): void => this.#checkTime();
  readonly #keepTimer = (timer: NodeJS.Timeout): void => {
    this.#timer = timer;
  };
  readonly #onAbort = (): void => this.#fail('network_error', 'The attempt was interrupted.');

  constructor(private readonly input: ExchangeInput) {
    this.result = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const { timeoutMs, signal } = input;
    this.#startTimer(timeoutMs);
    signal.addEventListener('abort', this.#onAbort);
    this.#stream = this.#open(false);
    // A signal that was aborted before fires no event.
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
    // After a 101 the socket has no owner: neither got nor the agent would ever close it.
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
      this.#fail('protocol_error', 'Too much came before a response.'),
    );
    const now = performance.now();
    if (this.#stream.reusedSocket) {
      this.#writtenAt = now;
      return;
    }
    const isNamed = isIP(hostOf(new URL(this.input.request.url))) === 0;
    // The request is written into the socket now, and goes when this lets it.
    socket.cork();
    const onReady = () => void this.#begin(socket, performance.now() - now > CONNECTS_UNASKED_MS);
    this.#newConnection = new NewConnection(socket, isNamed, now, onReady);
  }

  async #begin(socket: Socket, hasWaited: boolean): Promise<void> {
    const { mayBegin } = this.input.request;
    const answer = mayBegin?.(hasWaited || this.#staleError !== undefined) ?? true;
    if (answer === true || (await this.#isAllowed(answer))) socket.uncork();
    else if (this.#staleError) this.#failWith(this.#staleError);
    else this.#end({ kind: 'unsent', error: 'The request might not begin any more.' });
  }

  async #isAllowed(answer: boolean | Promise<boolean>): Promise<boolean> {
    this.#isAsking = true;
    try {
      return await answer;
    } catch {
      // Redis is away, and the next run says so.
      return false;
    } finally {
      this.#isAsking = false;
    }
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

  // A write onto a closed connection fails with this; from Node.js 24 on it comes before the real cause.
  #causeOf(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
    return error.code === 'ERR_SOCKET_CLOSED' ? (this.#socket?.errored ?? error) : error;
  }

  // Once there is a status, it decides, even if the body broke off.
  #onError(error: NodeJS.ErrnoException): void {
    if (this.#response) return this.#finish();
    if (this.#wasStale(error)) return this.#sendAgain(error);
    if (error.code === PROXY_FAULT_CODE) return this.#end({ kind: 'unsent', error: error.message });
    this.#failWith(error);
  }

  #failWith(error: NodeJS.ErrnoException): void {
    this.#fail(classifyNetworkError(error), describeNetworkError(error));
  }

  // The receiver closed a kept-alive connection at the moment of its next use, and has not read the request: no failure.
  #wasStale({ code }: NodeJS.ErrnoException): boolean {
    const socket = this.#socket;
    if (this.#stream.reusedSocket !== true || !HUNG_UP.has(code) || !socket) return false;
    if (socket.bytesRead !== this.#bytesBefore || this.input.request.isSentOnce) return false;
    const { staleWithinMs = STALE_WITHIN_MS } = this.input.limits;
    return performance.now() - this.#writtenAt <= staleWithinMs + (roundTrips.get(socket) ?? 0);
  }

  // The retry uses a new connection, so this happens once at most.
  #sendAgain(error: NodeJS.ErrnoException): void {
    this.#staleError = error;
    const { timeoutMs } = this.input;
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.#startTimer(Math.max(timeoutMs - (performance.now() - this.#startedAt), 0));
    this.#stream = this.#open(true);
  }

  // One timer, which fires at the end of the time for connecting: nearly all requests are over by then.
  #startTimer(leftMs: number): void {
    const connectMs = Math.min(this.input.limits.connectTimeoutMs, leftMs);
    this.#restMs = leftMs - connectMs;
    startPatience(connectMs, this.#onTimer, this.#keepTimer);
  }

  #checkTime(): void {
    const phase = this.#phase();
    if (this.#isAsking) return this.#end({ kind: 'unsent', error: 'Redis took too long.' });
    if (phase === 'ready' && this.#restMs > 0) {
      startPatience(this.#restMs, this.#onTimer, this.#keepTimer);
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
    if (!this.#response) return this.#fail('protocol_error', 'The connection ended without a response.');
    const { statusCode, headers } = this.#response;
    const wish = headers['webhook-delivery'];
    const kept = keptHeaders(headers);
    this.#end({
      kind: 'responded',
      status: statusCode,
      retryAfter: headers['retry-after'],
      wish: typeof wish === 'string' ? wish : undefined,
      ...(this.input.request.method === 'OPTIONS' ? { permission: permissionOf(headers) } : {}),
      ...(kept === undefined ? {} : { headers: kept }),
      body: this.#keptText(),
      timings: this.#timings(),
      remoteAddress: this.#remoteAddress(),
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
      remoteAddress: this.#remoteAddress(),
    });
  }

  #remoteAddress(): string | undefined {
    return this.#socket && this.input.route.addressOf(this.#socket);
  }

  #end(result: SendResult): void {
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.input.signal.removeEventListener('abort', this.#onAbort);
    if (!this.#stream.readableEnded) this.#stream.destroy();
    this.#settle(result);
  }
}

function permissionOf(headers: Response['headers']): Permission {
  const origin = headers['webhook-allowed-origin'];
  const rate = headers['webhook-allowed-rate'];
  return {
    origin: typeof origin === 'string' ? origin : undefined,
    rate: typeof rate === 'string' ? rate : undefined,
  };
}

/**
 * Far more than the headers of a response may take (Node's 16 KiB) and a handful of interim responses before
 * it. Not less than Node reads at once: a response's start together with a part of its body is in the first
 * read.
 */
const MAX_PREAMBLE_BYTES = 64 * 1024;

/**
 * Limit the bytes before a response. Blank lines and interim responses (103) may come endlessly, and nothing
 * else limits them: a receiver that sends them as fast as it can would keep a processor busy until the
 * deadline.
 *
 * @returns stops watching; call it when the response begins, or when none will come.
 */
function limitPreamble(socket: Socket, onTooLong: () => void): () => void {
  let bytes = 0;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_PREAMBLE_BYTES) onTooLong();
  };
  socket.on('data', take);
  return () => socket.off('data', take);
}

const BY_CODE: Readonly<Record<string, TransportFailure>> = {
  ERR_BLOCKED_ADDRESS: 'blocked_address',
  ERR_PROXY_DENIED: 'blocked_address',
  ERR_PROXY_CONNECT_TIMEOUT: 'connect_timeout',
  ERR_PROXY_CONNECT_FAILED: 'network_error',
  ERR_UNRESOLVED_NAME: 'dns_error',
  ECONNREFUSED: 'connect_refused',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  EPROTO: 'tls_error',
};

// OpenSSL's and Node's codes for failures of a handshake, a certificate or a key.
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_)/;
// llhttp's codes: the received bytes are not HTTP.
const PARSER_CODE = /^HPE_/;

/** Why a request got no response, by the error's code. */
export function classifyNetworkError(error: Error): TransportFailure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return 'network_error';
  if (TLS_CODE.test(code)) return 'tls_error';
  if (PARSER_CODE.test(code)) return 'protocol_error';
  return BY_CODE[code] ?? 'network_error';
}

// OpenSSL in Node's words:
// `write EPROTO 807C…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…`
const OPENSSL = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

/**
 * Describe the failure to a reader of the attempt: of OpenSSL's errors only the reason, without its source
 * position.
 */
export function describeNetworkError({ message }: Error): string {
  const reason = OPENSSL.exec(message)?.[1];
  return reason === undefined ? message : `TLS failed: ${reason}.`;
}

export type ConnectionPhase = 'resolving' | 'connecting' | 'securing' | 'ready';

/** The progress of a connection that is being opened, and the duration of each phase. */
class NewConnection {
  #phase: ConnectionPhase;
  #phaseStartedAt: number;
  readonly #timings: { -readonly [Phase in keyof AttemptTimings]: AttemptTimings[Phase] } = {};

  /**
   * @param isNamed whether its host is a name that needs a lookup.
   * @param startedAt when it was requested, as `performance.now` gives it.
   * @param onReady called when the request can go.
   */
  constructor(
    private readonly socket: Socket,
    isNamed: boolean,
    startedAt: number,
    private readonly onReady: () => void,
  ) {
    this.#phase = isNamed ? 'resolving' : 'connecting';
    this.#phaseStartedAt = startedAt;
    const afterConnect = socket instanceof TLSSocket ? 'securing' : 'ready';
    socket.once('secureConnect', () => this.#end('tlsMs', 'ready'));
    if (socket.connecting) {
      if (isNamed) socket.once('lookup', () => this.#end('dnsMs', 'connecting'));
      socket.once('connect', () => this.#end('connectMs', afterConnect));
    } else {
      // A tunnel, which is handed over once it stands; its proxy did the lookup.
      this.#end('connectMs', afterConnect);
    }
  }

  get phase(): ConnectionPhase {
    return this.#phase;
  }

  get timings(): AttemptTimings {
    return this.#timings;
  }

  #end(timing: keyof AttemptTimings, next: ConnectionPhase): void {
    const now = performance.now();
    const tookMs = now - this.#phaseStartedAt;
    this.#timings[timing] = Math.round(tookMs);
    this.#phaseStartedAt = now;
    this.#phase = next;
    if (timing === 'connectMs') roundTrips.set(this.socket, Math.min(tookMs, MAX_ROUND_TRIP_MS));
    if (next === 'ready') this.onReady();
  }
}

import { once } from 'node:events';
import {
  type IncomingMessage,
  type RequestListener,
  Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Emit } from '@hookferry/core/domain/signal';
import type { ConnectionRefusal } from '@hookferry/core/domain/signals/requests';
import { AppError } from '@hookferry/core/platform/app-error';
import type { NewId } from '@hookferry/core/platform/ids';
import { PROBLEM_TYPE, presentProblem } from './problem';

export interface HttpServerOptions extends BrokenRequestOptions {
  readonly maxConnections: number;
  readonly timeouts?: Partial<Timeouts>;
  /** Node's own by default. */
  readonly messageClasses?: MessageClasses;
}

/** The classes of a server's requests and responses. */
export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

interface Timeouts {
  /** For the request line and all headers. */
  readonly headersTimeout: number;
  /** For the whole request. */
  readonly requestTimeout: number;
  /** How long a connection may idle between two requests. */
  readonly keepAliveTimeout: number;
  /** How long a connection may be silent, for clients that don't read their response. */
  readonly timeout: number;
  /** How often the first two are checked: they may end later by this much. */
  readonly connectionsCheckingInterval: number;
}

const TIMEOUTS: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the minute of most load balancers: if the API hung up first, a request on its way would be
  // lost.
  keepAliveTimeout: 65_000,
  timeout: 60_000,
  connectionsCheckingInterval: 2_000,
};

const MAX_HEADER_BYTES = 16 * 1024;

/** Serves HTTP to clients, some of which are slow, greedy or broken. */
export class HttpServer extends Server {
  readonly #sockets = new Set<Socket>();
  #isStopping = false;

  constructor(listener: RequestListener, options: HttpServerOptions) {
    const { maxConnections, timeouts, messageClasses, newId, emit } = options;
    const { keepAliveTimeout, timeout, ...checked } = { ...TIMEOUTS, ...timeouts };
    const inOrder = new RequestsInOrder(listener, announce('pipelined', emit));
    const refuseMalformed = announce('malformed', emit);
    const answerBroken = answerBrokenRequest({ newId, emit });
    super(
      // A request without Host is refused later, where every error gets its form.
      {
        ...checked,
        ...messageClasses,
        keepAliveTimeout,
        maxHeaderSize: MAX_HEADER_BYTES,
        requireHostHeader: false,
      },
      inOrder.take,
    );
    this.timeout = timeout;
    this.maxConnections = maxConnections;
    this.on('connection', (socket: Socket) => this.#note(socket));
    this.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // A client that left in the middle of a request waits for nothing, not even for a stream in front of
      // it.
      if (error.code === 'HPE_INVALID_EOF_STATE') {
        refuseMalformed(socket);
        socket.destroy();
      } else inOrder.answerLast(socket, () => answerBroken(error, socket));
    });
    // Without a listener Node responds with 417 and no body to unknown expectations. They may be ignored.
    this.on('checkExpectation', inOrder.take);
    this.on('drop', () => emit({ name: 'connection.refused', reason: 'too_many' }));
  }

  /** Take no new connections, finish running requests, and after the deadline close the rest. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.listening) return;
    const closed = once(this, 'close');
    this.#isStopping = true;
    // A connection whose last response is still to come must not stay open after it.
    this.keepAliveTimeout = 1;
    this.close();
    this.closeIdleConnections();
    // Node takes a connection without any data for busy.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    const deadline = setTimeout(() => this.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(deadline);
  }

  #note(socket: Socket): void {
    // It was accepted before the server was told to stop.
    if (this.#isStopping) return void socket.destroy();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function announce(reason: ConnectionRefusal, emit: Emit) {
  return (socket: Socket): void => {
    const clientAddress = socket.remoteAddress;
    emit({ name: 'connection.refused', reason, ...(clientAddress === undefined ? {} : { clientAddress }) });
  };
}

// Programs that pipeline have about ten requests under way. A waiting one takes a few KB, and 16 KiB at most
// for its head.
const MOST_WAITING = 16;
// The HTTP server keeps ignored requests until their connection is closed.
const MOST_PASSED_OVER = 64;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  /** The running request and its response, until that is written out. */
  current: Exchange | undefined;
  readonly waiting: Exchange[];
  /** Called once all waiting requests are answered. From then on no more are taken. */
  last: (() => void) | undefined;
  passedOver: number;
}

/**
 * A client may send its next requests before the response to the first (RFC 9112, 9.3.2). Responses go out in
 * the order of the requests, so those to later requests would have to be kept until all earlier ones are
 * read. Here the next request begins only when the response before it is written out: a connection has one
 * response in memory, whatever it sends.
 */
class RequestsInOrder {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** @param refuse called with a connection that has more requests than may wait. */
  constructor(
    private readonly listener: RequestListener,
    private readonly refuse: (socket: Socket) => void,
  ) {}

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    // It was read together with the one too many.
    if (socket.destroyed) return;
    const connection = this.#of(socket);
    if (connection.last) this.#passOver(connection, socket);
    else if (connection.current === undefined) this.#begin(connection, { request, response });
    else if (connection.waiting.length < MOST_WAITING) connection.waiting.push({ request, response });
    else {
      this.refuse(socket);
      // Requests that were taken get their response.
      connection.last = () => socket.destroySoon();
      this.#passOver(connection, socket);
    }
  };

  /**
   * Respond to a broken request, once all requests before it have their response, and take no more.
   *
   * @param answer is not called when the client is gone.
   */
  answerLast(socket: Socket, answer: () => void): void {
    const connection = this.#of(socket);
    const { current, waiting } = connection;
    // The running request itself may have broken half-way.
    if (socket.destroyed || current?.request.complete !== true) return answer();
    if (connection.last) return;
    connection.last = answer;
    // The rest of it never comes.
    if (waiting.at(-1)?.request.complete === false) waiting.pop();
  }

  #passOver(connection: Connection, socket: Socket): void {
    connection.passedOver += 1;
    if (connection.passedOver > MOST_PASSED_OVER) socket.destroy();
  }

  #of(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known) return known;
    const connection: Connection = { current: undefined, waiting: [], last: undefined, passedOver: 0 };
    this.#connections.set(socket, connection);
    return connection;
  }

  #begin(connection: Connection, exchange: Exchange): void {
    const { request, response } = exchange;
    connection.current = exchange;
    // Emitted once: `once` would cost more.
    response.on('close', () => {
      // Let other connections run in between.
      if (connection.waiting.length > 0 || connection.last) {
        setImmediate(() => this.#goOn(connection, request.socket));
      } else connection.current = undefined;
    });
    this.listener(request, response);
  }

  #goOn(connection: Connection, socket: Socket): void {
    connection.current = undefined;
    // The response has ended the connection: the client has to send further requests again.
    if (socket.destroyed || socket.writableEnded) {
      connection.waiting.length = 0;
      return;
    }
    const next = connection.waiting.shift();
    if (next) this.#begin(connection, next);
    else connection.last?.();
  }
}

export interface BrokenRequestOptions {
  readonly newId: NewId;
  readonly emit: Emit;
}

interface Refusal {
  readonly reason: ConnectionRefusal;
  readonly error: AppError;
}

// For a client that does not close its side: until then it may still read the response.
const LINGER_MS = 1_000;

/** Respond to data that never became a request that Express could see, and hang up. */
function answerBrokenRequest({ newId, emit }: BrokenRequestOptions) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // The parser complains again about the data after the response.
    if (socket.writableEnded) return;
    const refusal = refusalOf(error.code);
    if (!refusal || !socket.writable) return void socket.destroy();
    const clientAddress = socket.remoteAddress;
    emit({
      name: 'connection.refused',
      reason: refusal.reason,
      ...(clientAddress === undefined ? {} : { clientAddress }),
    });
    socket.end(toBytes(refusal.error, newId('req')));
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}

/** `undefined` when no client is left to respond to. */
function refusalOf(code = ''): Refusal | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      reason: 'too_slow',
      error: new AppError('request_timeout', 'The request did not arrive completely in time. Send it again.'),
    };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return {
      reason: 'headers_too_large',
      error: new AppError(
        'headers_too_large',
        'The URL and the headers are too long: at most 16 KiB together.',
      ),
    };
  }
  if (code.startsWith('HPE_')) {
    return {
      reason: 'malformed',
      error: new AppError(
        'malformed_request',
        'The request is not well-formed HTTP/1.1. Check the client and any proxy in between.',
      ),
    };
  }
  return undefined;
}

function toBytes(error: AppError, requestId: string): string {
  const { status, body } = presentProblem(error, requestId);
  const json = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_TYPE}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(json)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    json,
  ].join('\r\n');
}

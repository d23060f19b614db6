import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

// Programs that send ahead have about ten requests under way. One that waits takes a few KB, and 16 KiB at most for its head.
const MOST_WAITING = 16;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  /** What is being answered, and its answer, until that is written out. */
  current: Exchange | undefined;
  readonly waiting: Exchange[];
  /** Nothing more is taken: what came last was no request. It is answered by this after all that wait. */
  answerLast: (() => void) | undefined;
}

/**
 * A client may send its next requests ahead, before the answer to the first (RFC 9112, 9.3.2). Answers go out in the order
 * of the requests, so what was made for a later one would have to be kept until all before it were read. Here the next
 * one is begun only when the answer before it is written out: a connection has one answer in memory, whatever it sends.
 */
export class RequestsInOrder {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** @param hangUp for a connection with more requests than may wait. */
  constructor(
    private readonly listener: RequestListener,
    private readonly hangUp: (socket: Socket) => void,
  ) {}

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    // What was read together with one too many.
    if (socket.destroyed) return;
    const connection = this.#of(socket);
    if (connection.answerLast) return;
    if (connection.current === undefined) this.#begin(connection, { request, response });
    else if (connection.waiting.length >= MOST_WAITING) this.hangUp(socket);
    else connection.waiting.push({ request, response });
  };

  /**
   * Answers what is no request, once all requests before it are answered, and takes no more. A request that has begun to come
   * and never will be complete is never begun.
   *
   * @param answer is not called when nobody is there any more.
   */
  answerLast(socket: Socket, answer: () => void): void {
    const connection = this.#of(socket);
    if (connection.answerLast) return;
    connection.answerLast = answer;
    const { current, waiting } = connection;
    if (waiting.at(-1)?.request.complete === false) waiting.pop();
    // It may be the one that is being answered that has gone wrong half-way.
    if (socket.destroyed || current?.request.complete !== true) answer();
  }

  #of(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known) return known;
    const connection: Connection = { current: undefined, waiting: [], answerLast: undefined };
    this.#connections.set(socket, connection);
    return connection;
  }

  #begin(connection: Connection, exchange: Exchange): void {
    const { request, response } = exchange;
    connection.current = exchange;
    response.once('close', () => {
      // Other connections have their turn in between.
      if (connection.waiting.length > 0 || connection.answerLast) {
        setImmediate(() => this.#goOn(connection, request.socket));
      } else connection.current = undefined;
    });
    this.listener(request, response);
  }

  #goOn(connection: Connection, socket: Socket): void {
    connection.current = undefined;
    // The answer has ended the connection: who sent more has to send it anew.
    if (socket.destroyed || socket.writableEnded) return void (connection.waiting.length = 0);
    const next = connection.waiting.shift();
    if (next) this.#begin(connection, next);
    else connection.answerLast?.();
  }
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

// Programs that send ahead have about ten requests under way. One that waits takes a few KB, and 16 KiB at most for its head.
const MOST_WAITING = 16;
// The HTTP server keeps what is passed over until its connection is closed.
const MOST_PASSED_OVER = 64;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  /** What is being answered, and its answer, until that is written out. */
  current: Exchange | undefined;
  readonly waiting: Exchange[];
  /** What is done once all that waits is answered. From then on nothing more is taken. */
  last: (() => void) | undefined;
  passedOver: number;
}

/**
 * A client may send its next requests ahead, before the answer to the first (RFC 9112, 9.3.2). Answers go out in the order
 * of the requests, so what was made for a later one would have to be kept until all before it were read. Here the next
 * one is begun only when the answer before it is written out: a connection has one answer in memory, whatever it sends.
 */
export class RequestsInOrder {
  readonly #connections = new WeakMap<Socket, Connection>();

  /** @param refuse is told of a connection with more requests than may wait. */
  constructor(
    private readonly listener: RequestListener,
    private readonly refuse: (socket: Socket) => void,
  ) {}

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    // What was read together with one too many.
    if (socket.destroyed) return;
    const connection = this.#of(socket);
    if (connection.last) this.#passOver(connection, socket);
    else if (connection.current === undefined) this.#begin(connection, { request, response });
    else if (connection.waiting.length < MOST_WAITING) connection.waiting.push({ request, response });
    else {
      this.refuse(socket);
      // What was taken is answered.
      connection.last = () => socket.destroySoon();
      this.#passOver(connection, socket);
    }
  };

  /**
   * Answers what is no request, once all requests before it are answered, and takes no more.
   *
   * @param answer is not called when nobody is there any more.
   */
  answerLast(socket: Socket, answer: () => void): void {
    const connection = this.#of(socket);
    const { current, waiting } = connection;
    // It may be the one that is being answered that has gone wrong half-way.
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
    response.once('close', () => {
      // Other connections have their turn in between.
      if (connection.waiting.length > 0 || connection.last) {
        setImmediate(() => this.#goOn(connection, request.socket));
      } else connection.current = undefined;
    });
    this.listener(request, response);
  }

  #goOn(connection: Connection, socket: Socket): void {
    connection.current = undefined;
    // The answer has ended the connection: who sent more has to send it anew.
    if (socket.destroyed || socket.writableEnded) {
      connection.waiting.length = 0;
      return;
    }
    const next = connection.waiting.shift();
    if (next) this.#begin(connection, next);
    else connection.last?.();
  }
}

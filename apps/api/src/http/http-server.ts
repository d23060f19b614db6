import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionRefusal, Emit } from '@hookferry/core/model/signal';
import { answerBrokenRequest, type BrokenRequestOptions } from './answer-broken-request';
import { RequestsInOrder } from './requests-in-order';

export interface HttpServerOptions extends BrokenRequestOptions {
  readonly maxConnections: number;
  readonly timeouts?: Partial<Timeouts>;
}

interface Timeouts {
  /** For the request line and all headers. */
  readonly headersTimeout: number;
  /** For the whole request. */
  readonly requestTimeout: number;
  /** How long a connection may idle between two requests. */
  readonly keepAliveTimeout: number;
  /** How long nothing at all may come or go, for clients that don't read their answer. */
  readonly timeout: number;
  /** How often the first two are looked after: so much later they may end. */
  readonly connectionsCheckingInterval: number;
}

const TIMEOUTS: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the minute of most load balancers: if we hung up first, a request on its way would be lost.
  keepAliveTimeout: 65_000,
  timeout: 60_000,
  connectionsCheckingInterval: 1_000,
};

const MAX_HEADER_BYTES = 16 * 1024;

/** Serves HTTP to clients of which some are slow, greedy or broken. */
export function createHttpServer(
  listener: RequestListener,
  { maxConnections, timeouts, newId, emit }: HttpServerOptions,
): Server {
  const { keepAliveTimeout, timeout, ...checked } = { ...TIMEOUTS, ...timeouts };
  const inOrder = new RequestsInOrder(listener, announce('pipelined', emit));
  const refuseMalformed = announce('malformed', emit);
  const answerBroken = answerBrokenRequest({ newId, emit });
  const server = createServer(
    // A request without Host is refused further on, where every error gets its form.
    { ...checked, keepAliveTimeout, maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false },
    inOrder.take,
  );
  server.timeout = timeout;
  server.maxConnections = maxConnections;
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Whoever has left in the middle of a request waits for nothing, not even for a stream in front of it.
    if (error.code === 'HPE_INVALID_EOF_STATE') {
      refuseMalformed(socket);
      socket.destroy();
    } else inOrder.answerLast(socket, () => answerBroken(error, socket));
  });
  // Without a listener Node answers 417 with no body to expectations that it doesn't know. They may be passed over.
  server.on('checkExpectation', inOrder.take);
  server.on('drop', () => emit({ name: 'connection.refused', reason: 'too_many' }));
  return server;
}

function announce(reason: ConnectionRefusal, emit: Emit) {
  return (socket: Socket): void => {
    const clientAddress = socket.remoteAddress;
    emit({ name: 'connection.refused', reason, ...(clientAddress === undefined ? {} : { clientAddress }) });
  };
}

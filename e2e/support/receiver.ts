import { EventEmitter, once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { inTime } from '@hookferry/core/testing/in-time';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The raw body, byte for byte. */
  readonly body: Buffer;
  /** Milliseconds since the Unix epoch. */
  readonly receivedAt: number;
}

type ReceiverResponse =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'never';
export type Reply = ReceiverResponse | Promise<ReceiverResponse>;

/** A real receiver: records what it gets, and responds as it is told to. */
export class Receiver {
  readonly requests: ReceivedRequest[] = [];
  readonly #changes = new EventEmitter();
  #server: Server | undefined;
  #port = 0;

  /** @param reply gives the response to a request; by default 204 to everything. */
  constructor(
    private readonly reply: (request: ReceivedRequest, count: number) => Reply = () => 204,
    private readonly host = '127.0.0.1',
  ) {}

  static async start(
    reply?: (request: ReceivedRequest, count: number) => Reply,
    host?: string,
  ): Promise<Receiver> {
    const receiver = new Receiver(reply, host);
    await receiver.listen();
    return receiver;
  }

  get url(): string {
    return `http://${this.host}:${this.#port}/hook`;
  }

  /** Starts to listen; after a `stop`, on the same port as before. */
  async listen(): Promise<void> {
    this.#server = createServer((request, response) => void this.#receive(request, response));
    this.#server.listen(this.#port, this.host);
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Resolves once there are this many requests. */
  async waitFor(count: number): Promise<readonly ReceivedRequest[]> {
    const seen = () => `${this.requests.length} of ${count} requests`;
    while (this.requests.length < count) await inTime(once(this.#changes, 'request'), seen);
    return this.requests;
  }

  async stop(): Promise<void> {
    if (!this.#server?.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const request: ReceivedRequest = {
      method: message.method ?? '',
      path: message.url ?? '',
      headers: message.headers,
      body: Buffer.concat(chunks),
      receivedAt: Date.now(),
    };
    this.requests.push(request);
    const reply = this.reply(request, this.requests.length);
    this.#changes.emit('request');
    this.#respond(response, await reply);
  }

  #respond(response: ServerResponse, reply: ReceiverResponse): void {
    if (reply === 'never') return;
    if (typeof reply === 'number') response.writeHead(reply).end();
    else response.writeHead(reply.status, reply.headers).end(reply.body);
  }
}

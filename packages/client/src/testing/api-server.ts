import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The response to one request. */
export type Reply = (response: ServerResponse, request: SeenRequest) => void;

/** A real HTTP server that responds to the first request by the first reply, and so on; the last one is for all that follow. */
export class ApiServer {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;

  private constructor(replies: readonly [Reply, ...Reply[]]) {
    this.#server = createServer((message, response) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        const { method = '', url = '', headers } = message;
        const request = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
        this.requests.push(request);
        const reply = replies[Math.min(this.requests.length, replies.length) - 1] ?? replies[0];
        reply(response, request);
      });
    });
  }

  static async start(...replies: readonly [Reply, ...Reply[]]): Promise<ApiServer> {
    const server = new ApiServer(replies);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

/** An error, as the API sends it. */
export const problem =
  (status: number, code: string, headers: Readonly<Record<string, string>> = {}, more: object = {}): Reply =>
  (response) => {
    const body = { type: `urn:hookferry:error:${code}`, title: code, status, detail: `It is ${code}.`, code };
    response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ ...body, request_id: 'req_1', ...more }));
  };

/** The request came, and its connection is cut without a response. */
export const cut: Reply = (response) => {
  response.socket?.destroy();
};

/** The request came, and there is no response. */
export const silence: Reply = () => undefined;

/** The beginning of a response, after which the connection is cut. */
export const cutAfter =
  (text: string, type = 'application/x-ndjson'): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(text, () => response.socket?.destroySoon());
  };

/** Newline-delimited JSON, to its end. */
export const lines =
  (text: string): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(text);
  };

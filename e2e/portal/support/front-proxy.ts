import { connect, type Socket } from 'node:net';
import { type LocalServer, startTcpServer } from '@hookferry/core/testing/local-server';

/** Stands before the service, as a load balancer does, and passes on what browsers send and get, until it is told otherwise. */
export class FrontProxy {
  readonly #clients = new Set<Socket>();
  #refused: RegExp | undefined;
  #unanswered: RegExp | undefined;

  private constructor(private readonly server: LocalServer) {}

  /** @param baseUrl of the service. */
  static async start(baseUrl: string): Promise<FrontProxy> {
    const port = Number(new URL(baseUrl).port);
    const server = await startTcpServer((client) => proxy.#pass(client, port));
    const proxy = new FrontProxy(server);
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** All connections end now, streams too. */
  cut(): void {
    for (const client of this.#clients) client.destroy();
  }

  /** From now on the connection ends over which a request like this comes; those that are open end at once. */
  refuse(request: RegExp): void {
    this.#refused = request;
    this.cut();
  }

  /** From now on the service gets a request like this, and its response gets lost. */
  loseResponses(request: RegExp): void {
    this.#unanswered = request;
  }

  /** Passes on everything again. */
  heal(): void {
    this.#refused = undefined;
    this.#unanswered = undefined;
  }

  async stop(): Promise<void> {
    await this.server.close();
  }

  #pass(client: Socket, port: number): void {
    const service = connect(port, '127.0.0.1');
    this.#clients.add(client);
    service.on('error', () => {});
    service.once('close', () => client.destroy());
    client.once('close', () => {
      this.#clients.delete(client);
      service.destroy();
    });
    let isLost = false;
    client.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      isLost = this.#unanswered?.test(text) ?? false;
      if (this.#refused?.test(text)) client.destroy();
      else service.write(chunk);
    });
    service.on('data', (chunk: Buffer) => {
      if (!isLost) client.write(chunk);
    });
  }
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';

export interface OpsServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly registry: Registry;
  /** The queue that the worker takes nothing from although jobs wait, if there is one. */
  stalledQueue(): string | undefined;
  /** The connection to Redis that is unusable although nothing is tried any more, if there is one. */
  stuckConnection(): string | undefined;
  /** Whether the worker can take jobs right now. */
  isReady(): Promise<boolean>;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The worker's own small HTTP server, for orchestrators and Prometheus: /healthz, /readyz, /metrics. */
export class OpsServer {
  readonly #server: Server;

  constructor(private readonly options: OpsServerOptions) {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Resolves to the port it listens on. */
  async start(): Promise<number> {
    this.#server.listen(this.options.port, this.options.host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = this.#answer(pathOf(request)).catch(() => json(500, { status: 'failed' }));
    const { status, contentType, body } = await answer;
    response.writeHead(status, { 'content-type': contentType }).end(body);
  }

  async #answer(path: string): Promise<Answer> {
    switch (path) {
      case '/healthz': {
        const connection = this.options.stuckConnection();
        if (connection !== undefined) return json(503, { status: 'stuck', connection });
        const queue = this.options.stalledQueue();
        return queue === undefined ? json(200, { status: 'ok' }) : json(503, { status: 'stalled', queue });
      }
      case '/readyz': {
        const ready = await this.options.isReady();
        return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' });
      }
      case '/metrics': {
        const { registry } = this.options;
        return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
      }
      default:
        return json(404, { status: 'not found', known: ['/healthz', '/readyz', '/metrics'] });
    }
  }
}

// Not by URL, which throws at some of what strangers can send, such as "//".
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? url;
}

function json(status: number, body: unknown): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

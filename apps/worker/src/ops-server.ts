import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Unready } from '@hookferry/core/core/open-process';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Registry } from 'prom-client';
import type { StallWatch } from './stall-watch';

export interface OpsServerParts {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly registry: Registry;
  readonly stallWatch: StallWatch;
  readonly connectionHealth: ConnectionHealth;
  /** Why the worker can't take jobs right now; `undefined`: it can. */
  whyUnready(): Promise<Unready | undefined>;
}

interface OpsResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The worker's own small HTTP server, for orchestrators and Prometheus: /healthz, /readyz, /metrics. */
export class OpsServer {
  readonly #server: Server;

  constructor(private readonly parts: OpsServerParts) {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Resolves to the port it listens on. */
  async start(): Promise<number> {
    this.#server.listen(this.parts.port, this.parts.host);
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
    const responding = this.#respond(pathOf(request)).catch(() => json(500, { status: 'failed' }));
    const { status, contentType, body } = await responding;
    response.writeHead(status, { 'content-type': contentType }).end(body);
  }

  async #respond(path: string): Promise<OpsResponse> {
    switch (path) {
      case '/healthz': {
        const { stuckConnection: connection } = this.parts.connectionHealth;
        if (connection !== undefined) return json(503, { status: 'stuck', connection });
        const { stalledQueue: queue } = this.parts.stallWatch;
        return queue === undefined ? json(200, { status: 'ok' }) : json(503, { status: 'stalled', queue });
      }
      case '/readyz': {
        const unready = await this.parts.whyUnready();
        if (unready === undefined) return json(200, { status: 'ready' });
        return json(503, { status: 'not ready', ...unready });
      }
      case '/metrics': {
        const { registry } = this.parts;
        return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
      }
      default:
        return json(404, { status: 'not found', known: ['/healthz', '/readyz', '/metrics'] });
    }
  }
}

// Without URL, which throws at some input of clients, such as "//".
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? url;
}

function json(status: number, body: unknown): OpsResponse {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

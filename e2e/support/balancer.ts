import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;

interface Backend {
  readonly port: number;
  readonly agent: Agent;
  isReady: boolean;
}

/**
 * What stands before the API in production: it sends each request to one of the processes that said of themselves that they
 * are ready, by turns and over connections that it keeps open. It tries nothing twice.
 */
export class Balancer {
  readonly #backends: readonly Backend[];
  readonly #looking: readonly Promise<void>[];
  readonly #stopping = new AbortController();
  #turn = 0;

  constructor(
    ports: readonly number[],
    private readonly apiKey: string,
  ) {
    this.#backends = ports.map((port) => ({ port, agent: new Agent({ keepAlive: true }), isReady: false }));
    this.#looking = this.#backends.map((backend) => this.#watch(backend));
  }

  /** How many are ready. */
  get readyCount(): number {
    return this.#backends.filter(({ isReady }) => isReady).length;
  }

  /** Resolves to the response. @throws Error when nobody is ready, or the connection breaks. */
  async post(path: string, body: unknown): Promise<number> {
    const ready = this.#backends.filter(({ isReady }) => isReady);
    this.#turn += 1;
    const backend = ready[this.#turn % ready.length];
    if (!backend) throw new Error('Nobody is ready.');
    return await send(backend, 'POST', path, this.apiKey, JSON.stringify(body));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#looking);
    for (const { agent } of this.#backends) agent.destroy();
  }

  async #watch(backend: Backend): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const status = await send(backend, 'GET', '/readyz', this.apiKey).catch(() => undefined);
      backend.isReady = status === 200;
      await wait(LOOK_EVERY_MS);
    }
  }
}

async function send(
  { port, agent }: Backend,
  method: string,
  path: string,
  apiKey: string,
  body = '',
): Promise<number> {
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

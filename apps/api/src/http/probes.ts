import { setTimeout as wait } from 'node:timers/promises';
import type { Express } from 'express';
import type { Registry } from 'prom-client';

export interface ProbeOptions {
  /** Whether requests can be served right now. */
  isReady(): Promise<boolean>;
  /** The connection to Redis that is unusable although nothing is tried any more, if there is one. */
  stuckConnection(): string | undefined;
  readonly registry: Registry;
}

/** What orchestrators and Prometheus ask for, without a key. */
export function mountProbes(app: Express, { isReady, stuckConnection, registry }: ProbeOptions): void {
  app.get('/healthz', (_request, response) => {
    const connection = stuckConnection();
    if (connection === undefined) response.json({ status: 'ok' });
    else response.status(503).json({ status: 'stuck', connection });
  });
  app.get('/readyz', async (_request, response) => {
    const ready = await isReady();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
  });
  app.get('/metrics', async (_request, response) => {
    response.set('content-type', registry.contentType).end(await registry.metrics());
  });
}

/**
 * The time between being told to stop and closing the door. Whoever sends requests here has to learn that they go elsewhere
 * before they are refused: who asks for readiness by a 503, who keeps connections open by the header that ends them.
 */
export class Drain {
  #isDraining = false;

  /** @param delayMs how long requests are answered still. */
  constructor(private readonly delayMs: number) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Resolves when nothing should come any more. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    await wait(this.delayMs);
  }
}

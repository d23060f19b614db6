import { setTimeout as wait } from 'node:timers/promises';
import type { Unready } from '@hookferry/core/core/open-process';
import type { Clock } from '@hookferry/core/platform/clock';
import type { Express } from 'express';
import type { Registry } from 'prom-client';
import { requestStateOf } from './request-state';

export interface ProbeOptions {
  /** Why requests can't be served right now; `undefined`: they can. */
  readonly whyUnready: () => Promise<Unready | undefined>;
  /** The name of a connection to Redis that is unusable and not retried any more, if there is one. */
  readonly stuckConnection: () => string | undefined;
  readonly scrapes: Scrapes;
}

/** The endpoints for orchestrators, without a key. */
export function mountProbes(app: Express, { whyUnready, stuckConnection }: ProbeOptions): void {
  app.get(['/healthz', '/readyz'], (_request, response, next) => {
    requestStateOf(response).isProbe = true;
    next();
  });
  app.get('/healthz', (_request, response) => {
    const connection = stuckConnection();
    if (connection === undefined) response.json({ status: 'ok' });
    else response.status(503).json({ status: 'stuck', connection });
  });
  app.get('/readyz', async (_request, response) => {
    const unready = await whyUnready();
    if (unready === undefined) response.json({ status: 'ready' });
    else response.status(503).json({ status: 'not ready', ...unready });
  });
}

/** The page for Prometheus, without a key. */
export function mountMetrics(app: Express, registry: Registry, scrapes: Scrapes): void {
  app.get('/metrics', async (_request, response) => {
    requestStateOf(response).isProbe = true;
    scrapes.note();
    response.set('content-type', registry.contentType).end(await registry.metrics());
  });
}

/** Whether anybody reads the metrics of this process. */
export class Scrapes {
  /** Milliseconds since the Unix epoch. */
  lastAt: number | undefined;

  constructor(private readonly clock: Clock) {}

  note(): void {
    this.lastAt = this.clock();
  }
}

/**
 * The time between the signal to stop and the end of listening. Clients have to learn that they must go
 * elsewhere before they are refused: load balancers by a 503 of the readiness check, clients with open
 * connections by the header that ends them.
 */
export class Drain {
  #isDraining = false;

  /** @param delayMs how long requests are still served. */
  constructor(private readonly delayMs: number) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Resolves when no more requests are expected. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    await wait(this.delayMs);
  }
}

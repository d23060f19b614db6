import type { Express } from 'express';
import type { Registry } from 'prom-client';

export interface ProbeOptions {
  /** Whether requests can be served right now. */
  isReady(): Promise<boolean>;
  readonly registry: Registry;
}

/** What orchestrators and Prometheus ask for, without a key. */
export function mountProbes(app: Express, { isReady, registry }: ProbeOptions): void {
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', async (_request, response) => {
    const ready = await isReady();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
  });
  app.get('/metrics', async (_request, response) => {
    response.set('content-type', registry.contentType).end(await registry.metrics());
  });
}

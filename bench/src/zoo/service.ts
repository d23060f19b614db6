import { join } from 'node:path';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { MeasuredProcess } from '../processes/measured-process';
import { untilReady } from '../processes/until-ready';

const APPS = join(__dirname, '../../../apps');

export interface ServiceOptions {
  readonly redisUrl: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** API and worker, a process each, and a client of theirs. */
export class Service {
  private constructor(
    private readonly processes: readonly MeasuredProcess[],
    private readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  static async start({ redisUrl, environment }: ServiceOptions): Promise<Service> {
    const { key: apiKey } = buildApiKey();
    const port = await findClosedPort();
    const settings = {
      REDIS_URL: redisUrl,
      API_HOST: '127.0.0.1',
      API_PORT: String(port),
      WORKER_HOST: '127.0.0.1',
      WORKER_PORT: '0',
      BOOTSTRAP_API_KEY: apiKey,
      DRAIN_DELAY: '0s',
      ALLOW_HTTP_URLS: 'true',
      DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
      ...environment,
    };
    const processes = ['api', 'worker'].map(
      (app) => new MeasuredProcess(join(APPS, app, 'dist/main.js'), settings),
    );
    const service = new Service(processes, `http://127.0.0.1:${port}`, apiKey);
    await untilReady(service.baseUrl);
    return service;
  }

  async register(url: string, eventType: string): Promise<void> {
    await this.#post('/v1/webhooks', { url, events: [eventType] });
  }

  async publish(type: string, data: unknown): Promise<void> {
    await this.#post('/v1/events', { type, data });
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((part) => part.stop()));
  }

  async #post(path: string, body: unknown): Promise<void> {
    const response = await fetch(this.baseUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} gave ${response.status}: ${text}`);
  }
}

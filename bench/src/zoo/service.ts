import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findClosedPort } from '@webhooks/core/testing/local-server';
import { MeasuredProcess } from '../processes/measured-process';

const APPS = join(__dirname, '../../../apps');
const LOOK_EVERY_MS = 50;

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
    const apiKey = `whk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}`;
    const port = await findClosedPort();
    const settings = {
      REDIS_URL: redisUrl,
      API_HOST: '127.0.0.1',
      API_PORT: String(port),
      WORKER_HOST: '127.0.0.1',
      WORKER_PORT: '0',
      BOOTSTRAP_API_KEY: apiKey,
      ALLOW_HTTP_URLS: 'true',
      DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
      ...environment,
    };
    const processes = ['api', 'worker'].map(
      (app) => new MeasuredProcess(join(APPS, app, 'dist/main.js'), settings),
    );
    const service = new Service(processes, `http://127.0.0.1:${port}`, apiKey);
    while (!(await service.#isReady())) await wait(LOOK_EVERY_MS);
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

  async #isReady(): Promise<boolean> {
    return await fetch(`${this.baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
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

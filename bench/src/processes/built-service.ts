import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { inParallel } from '../in-parallel';
import { EVENT_TYPE } from '../traffic/events';
import type { Target } from '../traffic/sender';
import { type MeasuredProcess, runScript } from './measured-process';

export interface BuiltServiceOptions {
  /** The checkout whose build is run. */
  readonly build: string;
  readonly redisUrl: string;
  /** Settings of both processes, in the place of those of the benchmarks. */
  readonly environment?: Readonly<Record<string, string>>;
  /** For node, in both processes. */
  readonly nodeOptions?: readonly string[];
}

// All that an account can do; not acting for others.
const ALL_SCOPES = [
  'events:write',
  'webhooks:read',
  'webhooks:write',
  'deliveries:read',
  'deliveries:write',
  'portal:write',
];

// Too fast for the limits, or for the machine.
const LATER = new Set([429, 503]);
const MOST_TRIES = 20;
const TRY_AGAIN_MS = 500;

const REGISTERED_AT_ONCE = 8;

/**
 * API and worker of a checkout as their images run them, a process each, with all settings at their defaults but these:
 * addresses, receivers on this machine, and as many requests of one key as the benchmark likes.
 */
export class BuiltService {
  #worker: MeasuredProcess | undefined;

  private constructor(
    private readonly options: BuiltServiceOptions,
    private readonly settings: Readonly<Record<string, string>>,
    private readonly apiKey: string,
    readonly url: string,
    readonly api: MeasuredProcess,
  ) {}

  /** Starts both. */
  static async start(options: BuiltServiceOptions): Promise<BuiltService> {
    const { key } = buildApiKey();
    const port = await findClosedPort();
    const settings = {
      REDIS_URL: options.redisUrl,
      API_HOST: '127.0.0.1',
      API_PORT: String(port),
      WORKER_HOST: '127.0.0.1',
      WORKER_PORT: '0',
      BOOTSTRAP_API_KEY: key,
      RATE_LIMIT: '1000000/1s',
      DRAIN_DELAY: '0s',
      ALLOW_HTTP_URLS: 'true',
      DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
      ...options.environment,
    };
    const api = runScript(scriptOf(options.build, 'api'), settings, options.nodeOptions);
    const url = `http://127.0.0.1:${port}`;
    const service = new BuiltService(options, settings, key, url, api);
    service.startWorker();
    try {
      await untilReady(url);
    } catch (error) {
      await service.close();
      throw error;
    }
    return service;
  }

  get worker(): MeasuredProcess {
    if (!this.#worker) throw new Error('The worker is not running.');
    return this.#worker;
  }

  startWorker(): void {
    const { build, nodeOptions } = this.options;
    this.#worker = runScript(scriptOf(build, 'worker'), this.settings, nodeOptions);
  }

  async stopWorker(): Promise<void> {
    await this.#worker?.close();
    this.#worker = undefined;
  }

  /** Where an account's events are published. */
  targetOf(account: string): Target {
    return { url: this.url, headers: this.#headersFor(account) };
  }

  async createAccount(id: string): Promise<void> {
    await this.ask('default', 'POST', '/v1/accounts', { id });
  }

  /** @returns the webhook's id */
  async register(account: string, url: string): Promise<string> {
    const [id = ''] = await this.registerAll(account, [{ url, events: [EVENT_TYPE] }]);
    return id;
  }

  /** Some at once. @returns their ids, in the order of what is asked for */
  async registerAll(account: string, webhooks: readonly object[]): Promise<readonly string[]> {
    const ids: string[] = [];
    await inParallel(webhooks.length, REGISTERED_AT_ONCE, async (i) => {
      ids[i] = String((await this.ask(account, 'POST', '/v1/webhooks', webhooks[i])).id);
    });
    return ids;
  }

  /** Gives webhooks code that makes what they are sent. */
  async transform(account: string, webhookIds: readonly string[], code: string): Promise<void> {
    for (const id of webhookIds)
      await this.ask(account, 'PUT', `/v1/webhooks/${id}/transformation`, { code });
  }

  /** The headers of requests with a new key of the account's own. */
  async issueKey(account: string): Promise<Readonly<Record<string, string>>> {
    const { key } = await this.ask(account, 'POST', '/v1/api-keys', {
      name: 'benchmark',
      scopes: ALL_SCOPES,
    });
    return { authorization: `Bearer ${String(key)}` };
  }

  async close(): Promise<void> {
    await Promise.all([this.api.close(), this.stopWorker()]);
  }

  /** What is answered to an operator who acts for the account. */
  async ask(
    account: string,
    method: 'POST' | 'PUT',
    path: string,
    body: unknown,
  ): Promise<Record<string, unknown>> {
    const send = async () =>
      await fetch(this.url + path, {
        method,
        headers: { ...this.#headersFor(account), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    let response = await send();
    // What is made ready is not what is measured.
    for (let tries = 1; LATER.has(response.status) && tries < MOST_TRIES; tries += 1) {
      await response.arrayBuffer();
      await wait(TRY_AGAIN_MS);
      response = await send();
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} gave ${response.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  #headersFor(account: string): Record<string, string> {
    return {
      authorization: `Bearer ${this.apiKey}`,
      ...(account === 'default' ? {} : { 'x-account-id': account }),
    };
  }
}

function scriptOf(build: string, app: 'api' | 'worker'): string {
  return join(build, 'apps', app, 'dist/main.js');
}

const LOOK_EVERY_MS = 50;
// A bound, so that a process that can't start ends the benchmark.
const READY_WITHIN_MS = 60_000;

/** Resolves once the API at this address says that it is ready. */
export async function untilReady(url: string): Promise<void> {
  const limit = Date.now() + READY_WITHIN_MS;
  while (!(await isReady(url))) {
    if (Date.now() > limit) throw new Error('The API did not become ready.');
    await wait(LOOK_EVERY_MS);
  }
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

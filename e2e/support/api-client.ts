import { setTimeout as wait } from 'node:timers/promises';
import { until } from './until';

/** A machine with more to do than it can keeps a reply of Redis for longer than the API waits. Clients ask again when they are told to. */
const MOST_ASKED_AGAIN = 3;

export interface ApiResponse<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
}

export interface DeliveryView {
  readonly id: string;
  readonly event_id: string;
  readonly status: string;
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly hold: {
    readonly reason: string;
    readonly since: string | null;
    readonly until: string | null;
    readonly waits_for: string | null;
  } | null;
  readonly attempts: readonly {
    number: number;
    trigger: string;
    outcome: string;
    remote_address: string | null;
    holds: readonly { reason: string; since: string; until: string }[] | null;
    started_at: string;
    duration_ms: number;
    error: string | null;
    batch_id: string | null;
  }[];
}

/** A stranger's client: nothing but fetch. */
export class ApiClient {
  constructor(
    readonly baseUrl: string,
    readonly apiKey: string,
  ) {}

  /** A response as it comes, for what is not JSON. */
  async fetch(path: string): Promise<Response> {
    return await fetch(this.baseUrl + path, { headers: { authorization: `Bearer ${this.apiKey}` } });
  }

  /** @param body sent as it is if it is a text, else as JSON. */
  async request<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse<Body>> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? undefined : JSON.parse(text)) as Body,
    };
  }

  /** @param options more of the webhook. */
  async register(url: string, events: readonly string[] = ['*'], options: object = {}): Promise<Webhook> {
    const { body } = await this.expect<Webhook>(201, 'POST', '/v1/webhooks', { url, events, ...options });
    return body;
  }

  /** Resolves with the event's id. */
  async publish(type: string, data: unknown): Promise<string> {
    const { body } = await this.expect<{ id: string }>(202, 'POST', '/v1/events', { type, data });
    return body.id;
  }

  async listDeliveries(webhookId: string): Promise<readonly DeliveryView[]> {
    const { body } = await this.expect<{ data: readonly DeliveryView[] }>(
      200,
      'GET',
      `/v1/webhooks/${webhookId}/deliveries?limit=200`,
    );
    return body.data;
  }

  async readDelivery(id: string): Promise<DeliveryView> {
    const { body } = await this.expect<DeliveryView>(200, 'GET', `/v1/deliveries/${id}`);
    return body;
  }

  /** Waits until the delivery of this event to this endpoint has come to the status. */
  async waitForStatus(webhookId: string, eventId: string, status: string): Promise<DeliveryView> {
    let seen: DeliveryView | undefined;
    const look = async () => {
      const deliveries = await this.listDeliveries(webhookId);
      seen = deliveries.find(({ event_id }) => event_id === eventId);
      return seen?.status === status ? await this.readDelivery(seen.id) : undefined;
    };
    return await until(look, () => `not ${status}, but ${JSON.stringify(seen ?? 'no such delivery')}`);
  }

  async waitUntilReady(): Promise<void> {
    let seen = '';
    const look = async () => {
      const response = await fetch(`${this.baseUrl}/readyz`);
      seen = await response.text();
      return response.ok ? true : undefined;
    };
    await until(look, () => seen);
  }

  async expect<Body>(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiResponse<Body>> {
    const isRepeatable = method === 'GET' || headers?.['idempotency-key'] !== undefined;
    const asksAgain = isRepeatable && status !== 503 ? MOST_ASKED_AGAIN : 0;
    const response = await this.#ask<Body>(asksAgain, method, path, body, headers);
    if (response.status !== status) {
      throw new Error(
        `${method} ${path} gave ${response.status}, not ${status}: ${JSON.stringify(response.body)}`,
      );
    }
    return response;
  }

  async #ask<Body>(
    asksAgain: number,
    ...request: Parameters<ApiClient['request']>
  ): Promise<ApiResponse<Body>> {
    const response = await this.request<Body>(...request);
    if (response.status !== 503 || asksAgain === 0) return response;
    await wait(Number(response.headers.get('retry-after') ?? 1) * 1_000);
    return await this.#ask(asksAgain - 1, ...request);
  }
}

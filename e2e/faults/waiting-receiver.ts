import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type LocalServer, startHttpServer } from '@hookferry/core/testing/local-server';

const TOKEN_PATH = '/token';

/** A request that came with an access token. */
export interface Arrival {
  /** The last part of its path. */
  readonly name: string;
  readonly eventId: string;
  readonly arrivedAt: number;
  /** For how long its token had expired by then; at most 0: it had not. Milliseconds. */
  readonly expiredForMs: number;
}

/** A receiver behind an authorization server that may keep its responses back. */
export class WaitingReceiver {
  readonly arrivals: Arrival[] = [];
  /** How many token requests wait for their responses. */
  waiting = 0;
  readonly #release = new EventEmitter().setMaxListeners(0);
  readonly #endsOf = new Map<string, number>();
  #isHolding = false;
  #server!: LocalServer;

  private constructor(
    private readonly lifetimeS: number,
    private readonly respondsAfterMs: () => number,
  ) {}

  /** @param respondsAfterMs how long each response to a token request takes. */
  static async start(lifetimeS: number, respondsAfterMs = (): number => 0): Promise<WaitingReceiver> {
    const receiver = new WaitingReceiver(lifetimeS, respondsAfterMs);
    receiver.#server = await startHttpServer((request, response) => void receiver.#take(request, response));
    return receiver;
  }

  /** The members of a webhook that delivers here. */
  webhook(name: string): object {
    const base = `http://127.0.0.1:${this.#server.port}`;
    const auth = {
      type: 'oauth2',
      token_url: base + TOKEN_PATH,
      client_id: 'faults',
      client_secret: 'secret',
    };
    return { url: `${base}/${name}`, events: ['*'], auth };
  }

  /** Keep the responses to token requests back until `release`. */
  hold(): void {
    this.#isHolding = true;
  }

  release(): void {
    this.#isHolding = false;
    this.#release.emit('released');
  }

  async close(): Promise<void> {
    this.release();
    await this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    request.resume();
    if (request.url === TOKEN_PATH) return await this.#grant(response);
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    this.arrivals.push({
      name: (request.url ?? '').slice(1),
      eventId: String(request.headers['webhook-id']),
      arrivedAt,
      expiredForMs: arrivedAt - (this.#endsOf.get(token) ?? 0),
    });
    response.writeHead(204).end();
  }

  async #grant(response: ServerResponse): Promise<void> {
    const token = randomUUID();
    this.#endsOf.set(token, Date.now() + this.lifetimeS * 1_000);
    this.waiting += 1;
    await wait(this.respondsAfterMs());
    if (this.#isHolding) await once(this.#release, 'released');
    this.waiting -= 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: this.lifetimeS }));
  }
}

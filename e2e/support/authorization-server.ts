import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';

/** As oidc-provider takes it. */
export interface RegisteredClient {
  readonly client_id: string;
  readonly token_endpoint_auth_method: 'client_secret_basic' | 'private_key_jwt';
  readonly client_secret?: string;
  readonly token_endpoint_auth_signing_alg?: string;
  readonly jwks?: { readonly keys: readonly object[] };
  readonly scope?: string;
}

export interface TokenRequest {
  readonly status: number;
  readonly form: Readonly<Record<string, string>>;
  /** The request's own header. */
  readonly authorization: string;
}

type Message = ({ kind: 'token' } & TokenRequest) | { kind: 'listening'; port: number };

/** A certified authorization server, by other people, as a process of its own. */
export class AuthorizationServer {
  readonly requests: TokenRequest[] = [];

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** @param lifetimeS of the tokens that it gives. */
  static async start(clients: readonly RegisteredClient[], lifetimeS = 3_600): Promise<AuthorizationServer> {
    const script = join(__dirname, 'run-authorization-server.mjs');
    const child = fork(script, [JSON.stringify({ clients, lifetime: lifetimeS })], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const messages = new EventEmitter();
    child.on('message', (message: Message) => messages.emit(message.kind, message));
    const [{ port }] = (await once(messages, 'listening')) as [{ port: number }];
    const server = new AuthorizationServer(child, `http://127.0.0.1:${port}`);
    messages.on('token', (request: TokenRequest) => server.requests.push(request));
    return server;
  }

  get tokenUrl(): string {
    return `${this.url}/token`;
  }

  /** What a receiver that asks the server gets to know of a token. */
  async introspect(token: string, client: RegisteredClient): Promise<Record<string, unknown>> {
    const credentials = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64');
    const response = await fetch(`${this.url}/token/introspection`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ token }),
    });
    return (await response.json()) as Record<string, unknown>;
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }
}

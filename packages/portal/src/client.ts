import { type Client, type components, createClient, WebhooksApiError } from '@hookferry/client';
import { codeOf, newSessionLink, PortalError, type SessionSource } from './session-link.ts';

export { PortalError, type SessionSource } from './session-link.ts';

export interface PortalClientOptions {
  /** The address of the service, such as `https://hooks.example.com`. */
  readonly baseUrl: string;
  /** Where new links come from: asked at the first call, and when the session has ended. */
  readonly session: SessionSource;
}

/** What the session may do, and for whom. */
export type PortalSessionInfo = Omit<components['schemas']['OpenedPortalSession'], 'token'>;

/** The client of the API, for a page: it sends the token of a portal session, which it keeps in memory alone. */
export interface PortalClient extends Client {
  /** The session, which is opened if there is none. @throws PortalError, WebhooksApiError, WebhooksConnectionError */
  readonly session: () => Promise<PortalSessionInfo>;
}

// It stands where the session's token comes.
const NO_KEY = 'session';

/**
 * A client whose calls are made with a session. When that has ended, a call asks for a new link and is sent once more.
 *
 * If none can be had, the call fails with a WebhooksApiError `unauthenticated`, whose `detail` says why.
 *
 * @throws TypeError if `baseUrl` is not valid
 */
export function createPortalClient({ baseUrl, session: source }: PortalClientOptions): PortalClient {
  const sessions = new Sessions(baseUrl, source);
  const client = createClient({ baseUrl, apiKey: NO_KEY, fetch: (request) => sessions.send(request) });
  return {
    ...client,
    session: async () => {
      const { token: _, ...info } = await sessions.current();
      return info;
    },
  };
}

type Opened = components['schemas']['OpenedPortalSession'];

/** One session at a time, for all calls. */
class Sessions {
  #opening: Promise<Opened> | undefined;

  constructor(
    private readonly baseUrl: string,
    private readonly source: SessionSource,
  ) {}

  async send(request: Request): Promise<Response> {
    // A request can be sent once.
    const again = request.clone();
    try {
      const session = this.current();
      const response = await fetch(withToken(request, await session));
      if (response.status !== 401) return response;
      // Others may have asked for a new one meanwhile.
      if (this.#opening === session) this.#opening = undefined;
      await response.body?.cancel();
      return await fetch(withToken(again, await this.current()));
    } catch (error) {
      if (error instanceof PortalError) return refusal(error.message);
      // The client that opens sessions has tried again as often as it helps.
      if (error instanceof WebhooksApiError) return refusal(error.detail);
      throw error;
    }
  }

  current(): Promise<Opened> {
    if (this.#opening) return this.#opening;
    const opening = this.#open();
    this.#opening = opening;
    opening.catch(() => {
      // The next call tries again.
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async #open(): Promise<Opened> {
    const code = codeOf(await newSessionLink(this.source, this.baseUrl));
    const client = createClient({
      baseUrl: this.baseUrl,
      apiKey: NO_KEY,
      fetch: (request) => {
        request.headers.delete('authorization');
        return fetch(request);
      },
    });
    return await client.POST('/v1/portal-sessions/exchange', { body: { code } });
  }
}

/** As the API refuses a request without a session: the client does not repeat it. */
function refusal(detail: string): Response {
  return Response.json({ code: 'unauthenticated', detail, request_id: '' }, { status: 401 });
}

function withToken(request: Request, { token }: Opened): Request {
  request.headers.set('authorization', `Bearer ${token}`);
  return request;
}

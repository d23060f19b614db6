import type { paths } from '@hookferry/client';
import createClient, { type Client } from 'openapi-fetch';

export type Api = Client<paths>;

interface ApiOptions {
  /** What each request is to say about who asks; read anew for each. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** The API does not know the one who asks any more. */
  readonly onUnauthenticated: () => void;
}

/** The API that this page was served by, typed by its own description. */
export function createApi({ headers, onUnauthenticated }: ApiOptions): Api {
  const api = createClient<paths>({ baseUrl: window.location.origin, credentials: 'omit' });
  api.use({
    onRequest: ({ request }) => {
      for (const [name, value] of Object.entries(headers())) {
        if (!request.headers.has(name)) request.headers.set(name, value);
      }
    },
    onResponse: ({ request, response }) => {
      // A request with other credentials, such as a key that is tried, says nothing about the session.
      const isOwn = request.headers.get('authorization') === (headers()['authorization'] ?? null);
      if (response.status === 401 && isOwn) onUnauthenticated();
    },
  });
  return api;
}

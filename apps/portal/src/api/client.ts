import type { paths } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import createClient, { type Client } from 'openapi-fetch';
import type { ProblemDetails } from './problem';

export type Api = Client<paths>;

interface ApiOptions {
  /** The credentials of a request, read for each one. undefined: there are none at the moment. */
  readonly headers: () => Readonly<Record<string, string>> | undefined;
  /** The API does not know the one who asks any more. */
  readonly onUnauthenticated: () => void;
  /** Something that people call by a name was created. */
  readonly onCreated?: (kind: CreatedKind, id: string) => void;
}

const CREATED = {
  '/v1/webhooks': 'webhook',
  '/v1/contacts': 'contact',
  '/v1/events': 'event',
  '/v1/webhooks/{id}/replays': 'replay',
} as const;
type CreatedKind = (typeof CREATED)[keyof typeof CREATED];

/** The API that this page was served by, typed by its own description. */
export function createApi({ headers, onUnauthenticated, onCreated }: ApiOptions): Api {
  const api = createClient<paths>({ baseUrl: window.location.origin, credentials: 'omit' });
  api.use({
    onRequest: ({ request }) => {
      const own = headers();
      if (!own) return Response.json(NOBODY, { status: NOBODY.status });
      for (const [name, value] of Object.entries(own)) {
        // A page about one account asks for that one, whichever is in view.
        if (!request.headers.has(name)) request.headers.set(name, value);
      }
      return request;
    },
    onResponse: async ({ request, response, schemaPath }) => {
      const wasKnown = request.headers.get('authorization');
      // A session that was replaced meanwhile says nothing about the one that is there now.
      if (response.status === 401 && wasKnown !== null && wasKnown === headers()?.['authorization']) {
        onUnauthenticated();
      }
      const kind = request.method === 'POST' && response.ok ? createdBy(schemaPath) : undefined;
      if (kind && onCreated) onCreated(kind, ((await response.clone().json()) as { readonly id: string }).id);
    },
  });
  return api;
}

function createdBy(path: string): CreatedKind | undefined {
  return path in CREATED ? CREATED[path as keyof typeof CREATED] : undefined;
}

/** The API's response without a session, so that no request has to be made. */
const NOBODY: ProblemDetails = {
  type: 'urn:hookferry:error:unauthenticated',
  title: t`The session has ended`,
  status: 401,
  detail: t`This page needs a session.`,
  code: 'unauthenticated',
  request_id: '',
};

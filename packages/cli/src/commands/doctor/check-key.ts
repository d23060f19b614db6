import { type Client, WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { bad, doubtful, type Finding, good } from './finding';

// No webhook, delivery or account has such an id, so requests for it do nothing.
const NOBODY = 'hookferry-doctor';

/** A request for each scope that changes nothing, with whatever key. */
const PROBES: readonly (readonly [scope: string, ask: (client: Client) => Promise<unknown>])[] = [
  ['webhooks:read', (client) => client.GET('/v1/webhooks', { params: { query: { limit: 1 } } })],
  [
    'webhooks:write',
    (client) => client.GET('/v1/webhooks/{id}/secret', { params: { path: { id: NOBODY } } }),
  ],
  [
    'events:write',
    (client) => client.DELETE('/v1/events/{id}/payload', { params: { path: { id: NOBODY } } }),
  ],
  ['deliveries:read', (client) => client.GET('/v1/events', { params: { query: { limit: 1 } } })],
  ['deliveries:write', (client) => client.DELETE('/v1/replays/{id}', { params: { path: { id: NOBODY } } })],
  ['admin', (client) => client.GET('/v1/api-keys', { params: { query: { limit: 1 } } })],
];

/** Whether the key is valid, and what it may do. */
export async function checkKey(client: Client): Promise<readonly Finding[]> {
  const refusal = await refusalOf(client.GET('/v1/account/usage'));
  if (refusal !== undefined) {
    return [bad('key', refusal, 'Log in with a key that is valid: hookferry login --url URL')];
  }
  const allowed: string[] = [];
  for (const [scope, ask] of PROBES) {
    if (await isAllowed(ask(client))) allowed.push(scope);
  }
  if (allowed.length === 0) {
    const advice = 'Ask for a key with scopes: keys create --scopes …';
    return [good('key', 'valid'), doubtful('scopes', 'none', advice)];
  }
  return [good('key', 'valid'), good('scopes', allowed.join(', '))];
}

async function refusalOf(request: Promise<unknown>): Promise<string | undefined> {
  try {
    await request;
    return undefined;
  } catch (error) {
    if (error instanceof WebhooksApiError) return `${error.detail} (${error.status} ${error.code})`;
    if (error instanceof WebhooksConnectionError) return error.message;
    throw error;
  }
}

// A key with the scope hears that there is no such thing; one without it hears that it lacks the scope.
async function isAllowed(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (!(error instanceof WebhooksApiError)) throw error;
    if (error.status === 403) return false;
    if (error.status === 404) return true;
    throw error;
  }
}

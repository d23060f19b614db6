import { createClient, WebhooksConnectionError } from '@hookferry/client';

/** With the types of a browser, and none of Node.js. */
export async function listNames(apiKey: string, signal: AbortSignal): Promise<string[]> {
  const client = createClient({ baseUrl: location.origin, apiKey });
  const names: string[] = [];
  try {
    for await (const { uid, id } of client.paginate('/v1/webhooks', { signal })) names.push(uid ?? id);
  } catch (error) {
    if (!(error instanceof WebhooksConnectionError && error.code === 'aborted')) throw error;
  }
  return names;
}

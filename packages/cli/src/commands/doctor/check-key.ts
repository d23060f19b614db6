import { type Client, WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { bad, doubtful, type Finding, good } from './finding';

/** Whether the key is valid, and what it may do. */
export async function checkKey(client: Client): Promise<readonly Finding[]> {
  try {
    const { scopes } = await client.GET('/v1/me');
    const advice = 'Ask for a key with scopes: keys create --scopes …';
    const found = scopes.length > 0 ? good('scopes', scopes.join(', ')) : doubtful('scopes', 'none', advice);
    return [good('key', 'valid'), found];
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    return [bad('key', refusal, 'Log in with a key that is valid: hookferry login --url URL')];
  }
}

function refusalIn(error: unknown): string | undefined {
  if (error instanceof WebhooksApiError) return `${error.detail} (${error.status} ${error.code})`;
  if (error instanceof WebhooksConnectionError) return error.message;
  return undefined;
}

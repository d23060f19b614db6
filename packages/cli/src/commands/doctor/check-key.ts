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

/** Whether what has moved to the history can be read. The service is ready without it, so nothing else here tells. */
export async function checkHistory(client: Client): Promise<readonly Finding[]> {
  try {
    const usage = await client.GET('/v1/account/usage');
    if (usage.history === 'unavailable') {
      const advice =
        'Ask the operator to check PostgreSQL: history.failed in the log of the workers has its error.';
      return [
        bad('history', 'PostgreSQL is not reachable: older events and deliveries cannot be read', advice),
      ];
    }
    return [good('history', usage.history_bytes === null ? 'none: all is in Redis' : 'reachable')];
  } catch (error) {
    // An earlier API.
    if (error instanceof WebhooksApiError && [403, 404].includes(error.status)) return [];
    throw error;
  }
}

function refusalIn(error: unknown): string | undefined {
  if (error instanceof WebhooksApiError) return `${error.detail} (${error.status} ${error.code})`;
  if (error instanceof WebhooksConnectionError) return error.message;
  return undefined;
}

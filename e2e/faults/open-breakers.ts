import type { ApiClient } from '../support/api-client';
import { askPatiently } from './ask-patiently';
import type { RegisteredEndpoint } from './register-endpoints';

/** The endpoints whose breaker says that its time has not come yet: what waits there waits for a reason. */
export async function findOpenBreakers(
  client: ApiClient,
  registered: readonly RegisteredEndpoint[],
): Promise<readonly string[]> {
  const open: string[] = [];
  for (const { spec, webhookId, headers } of registered) {
    const path = `/v1/webhooks/${webhookId}`;
    const { body } = await askPatiently<{ health?: { breaker?: string } }>(
      client,
      200,
      'GET',
      path,
      undefined,
      headers,
    );
    if (body.health?.breaker === 'open') open.push(spec.name);
  }
  return open;
}

import type { ApiClient, Webhook } from '../support/api-client';
import type { EndpointSpec } from './endpoints';
import type { Receivers } from './receivers';

const FOREIGN_ACCOUNT = 'foreign';

export interface RegisteredEndpoint {
  readonly spec: EndpointSpec;
  readonly webhookId: string;
  /** What says for whom the operator acts. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Registers them with the service, and has their receivers know the secrets. */
export async function registerEndpoints(
  client: ApiClient,
  receivers: Receivers,
  specs: readonly EndpointSpec[],
): Promise<readonly RegisteredEndpoint[]> {
  if (specs.some(({ isForeign }) => isForeign))
    await client.expect(201, 'POST', '/v1/accounts', { id: FOREIGN_ACCOUNT });
  const registered: RegisteredEndpoint[] = [];
  for (const spec of specs) {
    const { name, events, options = {}, isForeign = false, isFlaky = false, answersAfterMs } = spec;
    const headers: Record<string, string> = isForeign ? { 'x-account-id': FOREIGN_ACCOUNT } : {};
    const body = { url: receivers.urlOf(name), events, ...options };
    const { body: webhook } = await client.expect<Webhook>(201, 'POST', '/v1/webhooks', body, headers);
    receivers.tell({ kind: 'register', endpoint: name, secret: webhook.secret, answersAfterMs, isFlaky });
    registered.push({ spec, webhookId: webhook.id, headers });
  }
  return registered;
}

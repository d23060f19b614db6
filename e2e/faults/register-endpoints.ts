import type { ApiClient, Webhook } from '../support/api-client';
import { askPatiently } from './ask-patiently';
import { type EndpointSpec, VOLUME_TYPE } from './endpoints';
import type { Rates } from './publisher';
import type { Receivers } from './receivers';

const FOREIGN_ACCOUNT = 'foreign';
const AT_ONCE = 16;

const volumeType = {
  description: 'How many of an item there are has changed.',
  schema: {
    type: 'object',
    properties: { item: { type: 'string' }, count: { type: 'integer' } },
    required: ['item', 'count'],
  },
  example: { item: 'shoe-1', count: 4 },
};

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
  { volume = 0 }: Rates,
): Promise<readonly RegisteredEndpoint[]> {
  if (volume > 0) await askPatiently(client, 201, 'PUT', `/v1/event-types/${VOLUME_TYPE}`, volumeType);
  if (specs.some(({ isForeign }) => isForeign))
    await askPatiently(client, 201, 'POST', '/v1/accounts', { id: FOREIGN_ACCOUNT });
  const registered: RegisteredEndpoint[] = [];
  for (let from = 0; from < specs.length; from += AT_ONCE) {
    const some = specs.slice(from, from + AT_ONCE);
    registered.push(...(await Promise.all(some.map((spec) => registerEndpoint(client, receivers, spec)))));
  }
  return registered;
}

export async function registerEndpoint(
  client: ApiClient,
  receivers: Receivers,
  spec: EndpointSpec,
): Promise<RegisteredEndpoint> {
  const { name, events, options = {}, isForeign = false, isFlaky = false, respondsAfterMs, code } = spec;
  const headers: Record<string, string> = isForeign ? { 'x-account-id': FOREIGN_ACCOUNT } : {};
  const body = { url: receivers.urlOf(name), events, ...options };
  const { body: webhook } = await askPatiently<Webhook>(client, 201, 'POST', '/v1/webhooks', body, headers);
  if (code !== undefined) await putCode(client, webhook.id, code);
  receivers.send({ kind: 'register', endpoint: name, secret: webhook.secret, respondsAfterMs, isFlaky });
  return { spec, webhookId: webhook.id, headers };
}

/** Has an endpoint's events made by this code from now on. */
export async function putCode(client: ApiClient, webhookId: string, code: string): Promise<void> {
  await askPatiently(client, 201, 'PUT', `/v1/webhooks/${webhookId}/transformation`, { code });
}

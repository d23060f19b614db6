import { type Client, createClient, type ExportedAttempt, WebhooksApiError } from '@hookferry/client';

const client: Client = createClient({ baseUrl: process.argv.at(2) ?? '', apiKey: 'whk_1', retries: 0 });

const webhook = await client.GET('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } });
const url: string = webhook.url;
const ids: string[] = [];
for await (const { id } of client.paginate('/v1/webhooks')) ids.push(id);
const lines: ExportedAttempt[] = [];
for await (const line of client.exportDeliveries({ limit: 1 })) lines.push(line);
const code = await client.DELETE('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } }).then(
  (nothing: undefined) => nothing,
  (error: unknown) => (error instanceof WebhooksApiError ? error.code : 'none'),
);
console.log(JSON.stringify({ url, ids, outcomes: lines.map(({ attempt }) => attempt.outcome), code }));

/** Never called: what a compiler has to refuse. */
export const mistakes = [
  // @ts-expect-error there is no such path
  () => client.GET('/v1/hooks'),
  // @ts-expect-error the path has a parameter
  () => client.GET('/v1/webhooks/{id}'),
  // @ts-expect-error there is no such method
  () => client.PUT('/v1/webhooks', {}),
  // @ts-expect-error the body lacks `events`
  () => client.POST('/v1/webhooks', { body: { url: 'https://example.com' } }),
  // @ts-expect-error there is no such parameter
  () => client.GET('/v1/webhooks', { params: { query: { colour: 'red' } } }),
  // @ts-expect-error the text of a status is one of two
  () => client.GET('/v1/webhooks', { params: { query: { status: 'on' } } }),
  // @ts-expect-error what takes no body is given one
  () => client.DELETE('/v1/webhooks/{id}', { params: { path: { id: 'crm' } }, body: {} }),
  // @ts-expect-error an option with a slip of the pen
  () => client.GET('/v1/webhooks', { singal: AbortSignal.abort() }),
  // @ts-expect-error this is no list
  () => client.paginate('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } }),
  // @ts-expect-error this has no pages
  () => client.paginate('/v1/me'),
  // @ts-expect-error its response is not JSON: see exportDeliveries
  () => client.GET('/v1/deliveries/export'),
];

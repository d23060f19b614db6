import client = require('@hookferry/client');

async function main(baseUrl: string): Promise<void> {
  const { GET, paginate, exportDeliveries, DELETE } = client.createClient({ baseUrl, apiKey: 'whk_1' });
  const webhook = await GET('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } });
  const url: string = webhook.url;
  const ids: string[] = [];
  for await (const { id } of paginate('/v1/webhooks')) ids.push(id);
  const outcomes: string[] = [];
  for await (const { attempt } of exportDeliveries({ limit: 1 })) outcomes.push(attempt.outcome);
  const code = await DELETE('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } }).then(
    (nothing: undefined) => nothing,
    (error: unknown) => (error instanceof client.WebhooksApiError ? error.code : 'none'),
  );
  console.log(JSON.stringify({ url, ids, outcomes, code }));
}

void main(process.argv.at(2) ?? '');

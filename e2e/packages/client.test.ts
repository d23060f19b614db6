import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient, WebhooksApiError } from '@hookferry/client';
import { Receiver } from '../support/receiver';
import { addTypes, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { installClient } from './install-client';

const EXAMPLE = join(__dirname, '..', '..', 'examples/client-register');

let stack: Stack;
let receiver: Receiver;
let client: Client;
beforeAll(async () => {
  stack = await Stack.start();
  receiver = await Receiver.start();
  await addTypes(stack.client);
  client = createClient({ baseUrl: stack.client.baseUrl, apiKey: stack.bootstrapKey });
});
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
});

async function idsOf(items: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of items) ids.push(id);
  return ids;
}

it('registers, publishes, reads, lists over pages, and exports', async () => {
  const webhook = await client.POST('/v1/webhooks', { body: { url: receiver.url, events: ['keyword.*'] } });
  const published: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    published.push((await client.POST('/v1/events', { body: QUICK_WIN })).id);
  }
  await receiver.waitFor(5);

  const path = { id: webhook.id };
  const settled = await until(async () => {
    const query = { status: 'delivered', limit: 2 } as const;
    const ids = await idsOf(client.paginate('/v1/webhooks/{id}/deliveries', { params: { path, query } }));
    return ids.length === 5 ? ids : undefined;
  });
  expect(settled.toSorted()).toEqual(published.map((id) => `${id}.${webhook.id}`).toSorted());

  const read = await client.GET('/v1/webhooks/{id}', { params: { path } });
  expect(read).toMatchObject({ url: receiver.url, events: ['keyword.*'], health: { breaker: 'closed' } });

  const exported: string[] = [];
  for await (const { event_id, attempt } of client.exportDeliveries({ webhook_id: webhook.id })) {
    exported.push(`${event_id} ${attempt.outcome}`);
  }
  expect(exported).toEqual(published.map((id) => `${id} delivered`));
  await client.DELETE('/v1/webhooks/{id}', { params: { path } });
});

it('says what is wrong where', async () => {
  const call = client.POST('/v1/webhooks', { body: { url: 'nowhere', events: ['*'], rate_limit: 0 } });
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(WebhooksApiError);
  expect(error).toMatchObject({
    status: 422,
    code: 'invalid_request',
    requestId: expect.stringMatching(/^req_/),
  });
  expect((error as WebhooksApiError).errors.map(({ pointer }) => pointer).toSorted()).toEqual([
    '/rate_limit',
    '/url',
  ]);
});

it('makes one thing where the response got lost: the retry has the same Idempotency-Key', async () => {
  let isLost = false;
  const losing = createClient({
    baseUrl: stack.client.baseUrl,
    apiKey: stack.bootstrapKey,
    fetch: async (request) => {
      const response = await fetch(request);
      if (isLost) return response;
      isLost = true;
      await response.body?.cancel();
      throw new TypeError('fetch failed');
    },
  });
  const body = { url: receiver.url, events: ['brief.*'] };
  const { id } = await losing.POST('/v1/webhooks', { body });
  const query = { event_type: 'brief.created' };
  expect(await idsOf(client.paginate('/v1/webhooks', { params: { query } }))).toEqual([id]);
  await client.DELETE('/v1/webhooks/{id}', { params: { path: { id } } });
});

it('changes what nobody else has changed since', async () => {
  const { id } = await client.POST('/v1/webhooks', { body: { url: receiver.url, events: ['brief.*'] } });
  let etag = '';
  const onResponse = ({ headers }: { readonly headers: Headers }) => {
    etag = headers.get('etag') ?? '';
  };
  await client.GET('/v1/webhooks/{id}', { params: { path: { id } }, onResponse });
  const params = { path: { id }, header: { 'If-Match': etag } };
  await client.PATCH('/v1/webhooks/{id}', { params, body: { rate_limit: 5 } });
  await expect(client.PATCH('/v1/webhooks/{id}', { params, body: { rate_limit: 6 } })).rejects.toMatchObject({
    code: 'precondition_failed',
  });
  await client.DELETE('/v1/webhooks/{id}', { params: { path: { id } } });
});

it('the example registers once, however often it is run', async () => {
  const project = await installClient();
  await project.write('register.mjs', await readFile(join(EXAMPLE, 'register.mjs'), 'utf8'));
  const settings = [
    `HOOKFERRY_URL=${stack.client.baseUrl}`,
    `HOOKFERRY_API_KEY=${stack.bootstrapKey}`,
    `WEBHOOK_URL=${receiver.url}`,
  ];
  const start = () => project.run('env', ...settings, process.execPath, 'register.mjs');
  expect((await start()).output).toMatch(
    /^wh_\w+ is registered\. Its secret, .*whsec_.*\nA test is on its way\.\n$/,
  );
  expect((await start()).output).toMatch(/^wh_\w+ is up to date\.\nA test is on its way\.\n$/);
  const { url } = await client.GET('/v1/webhooks/{id}', {
    params: { path: { id: 'client-register-example' } },
  });
  expect(url).toBe(receiver.url);
  await project.remove();
});

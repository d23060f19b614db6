import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';

let client: ApiClient;
let receiver: Receiver;
beforeEach(async () => {
  client = await openAccount();
  receiver = await Receiver.start();
});
afterEach(() => receiver.stop());

interface Created {
  readonly id: string;
}

const events = [QUICK_WIN.type];
const FAR = { ...QUICK_WIN.data, position: 50 };
const NEAR = { ...QUICK_WIN.data, position: 3 };

async function registerFiltered(filter: object): Promise<string> {
  const { body } = await client.expect<Created>(201, 'POST', '/v1/webhooks', {
    url: receiver.url,
    events,
    filter,
  });
  return body.id;
}

async function eventsAt(webhookId: string): Promise<readonly string[]> {
  return (await client.listDeliveries(webhookId)).map(({ event_id }) => event_id);
}

it('sends an endpoint what its filter lets pass, and makes no delivery of the rest', async () => {
  const webhook = await registerFiltered({ position: { lte: 10 } });
  const far = await client.publish(QUICK_WIN.type, FAR);
  const near = await client.publish(QUICK_WIN.type, NEAR);
  await client.waitForStatus(webhook, near, 'delivered');
  expect(await eventsAt(webhook)).toEqual([near]);

  const { body: tried } = await client.expect<{ results: object[] }>(200, 'POST', '/v1/filters/try', {
    filter: { position: { lte: 10 } },
    event_id: far,
  });
  expect(tried.results).toMatchObject([{ event_id: far, matches: false, because: [{ found: 50 }] }]);

  await client.expect(200, 'PATCH', `/v1/webhooks/${webhook}`, { filter: { position: { gt: 10 } } });
  const farther = await client.publish(QUICK_WIN.type, FAR);
  await client.publish(QUICK_WIN.type, NEAR);
  await client.waitForStatus(webhook, farther, 'delivered');
  expect(await eventsAt(webhook)).toEqual([farther, near]);

  await client.expect(200, 'PATCH', `/v1/webhooks/${webhook}`, { filter: null });
  const last = await client.publish(QUICK_WIN.type, NEAR);
  await client.waitForStatus(webhook, last, 'delivered');
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([near, farther, last]);
});

it('has a worker ask very many filters, and a test go past them', async () => {
  // Beyond what is asked while the publisher waits.
  const long = 'x'.repeat(4_000);
  const [passing, ...others] = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      registerFiltered({ [index === 0 ? 'keyword' : 'no_such']: { ne: long, exists: true } }),
    ),
  );
  if (passing === undefined) throw new Error('There are twenty.');
  const event = await client.publish(QUICK_WIN.type, NEAR);
  await client.waitForStatus(passing, event, 'delivered');
  const [other = ''] = others;
  const { body } = await client.expect<{ event_id: string }>(202, 'POST', `/v1/webhooks/${other}/test`);
  await client.waitForStatus(other, body.event_id, 'delivered');
  expect(await eventsAt(other)).toEqual([body.event_id]);
});

it('replays to an endpoint what it lacks and its filter lets pass, and nothing else', async () => {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const type = 'brief.created';
  const wanted = await client.publish(type, { brief_id: 'b1', title: 'Red shoes' });
  await client.publish(type, { brief_id: 'b2', title: 'Blue shoes' });
  const filter = { title: { starts_with: 'Red' } };
  const webhook = { url: receiver.url, events: [type], filter };
  const { body } = await client.expect<Created>(201, 'POST', '/v1/webhooks', webhook);
  await client.expect(202, 'POST', `/v1/webhooks/${body.id}/replays`, { since, mode: 'missing' });
  await client.waitForStatus(body.id, wanted, 'delivered');
  const { body: replays } = await client.expect<{ data: object[] }>(
    200,
    'GET',
    `/v1/webhooks/${body.id}/replays`,
  );
  expect(replays.data).toMatchObject([{ found: 1 }]);
  expect(await eventsAt(body.id)).toEqual([wanted]);
});

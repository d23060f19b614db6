import type { ApiClient } from '../../support/api-client';
import { BRIEF } from '../../support/samples';

type PathParameters = Readonly<Record<string, string>>;

const OF_WEBHOOK = [
  '',
  '/enable',
  '/disable',
  '/secret',
  '/rotate-secret',
  '/test',
  '/deliveries',
  '/replays',
];
const OF_EVENT = ['', '/payload', '/deliveries'];
const OF_DELIVERY = ['', '/redeliver'];

/** Makes one of each thing that has an id. Resolves with the parameters of the paths that name it. */
export async function makeKnownIds(client: ApiClient): Promise<Record<string, PathParameters>> {
  const make = async (path: string, status: number, body: unknown) =>
    (await client.expect<{ readonly id: string }>(status, 'POST', path, body)).body.id;
  const webhook = (await client.register('https://example.com/webhooks')).id;
  const event = await client.publish(BRIEF.type, BRIEF.data);
  const order = { since: '2020-01-01T00:00:00Z', mode: 'all', dry_run: true };
  const replay = await make(`/v1/webhooks/${webhook}/replays`, 202, order);
  const account = await make('/v1/accounts', 201, {});
  return {
    ...atEach('/v1/webhooks/{id}', OF_WEBHOOK, webhook),
    ...atEach('/v1/events/{id}', OF_EVENT, event),
    ...atEach('/v1/deliveries/{id}', OF_DELIVERY, `${event}.${webhook}`),
    ...atEach('/v1/replays/{id}', [''], replay),
    ...atEach('/v1/accounts/{id}', [''], account),
  };
}

function atEach(path: string, ends: readonly string[], id: string): Record<string, PathParameters> {
  return Object.fromEntries(ends.map((end) => [path + end, { id }]));
}

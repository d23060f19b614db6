import { createClosables } from '@hookferry/core/testing/closables';
import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

interface Page {
  readonly data: readonly { readonly id: string; readonly payload_erased_at?: string | null }[];
  readonly next_cursor: string | null;
}

/** The ids in a list, page by page. A page may be short, wherever what matches is. */
async function find(client: ApiClient, list: string, data: object, filter = ''): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const query = `data=${encodeURIComponent(JSON.stringify(data))}&limit=2${filter}`;
    const { body } = await client.expect<Page>(200, 'GET', `/v1/${list}?${query}${cursor}`);
    ids.push(...body.data.map(({ id }) => id));
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
  } while (cursor !== '');
  return ids;
}

it('finds events and deliveries by the data, while they are on their way and when all has ended, until it is erased', async () => {
  const client = await openAccount();
  let response = 500;
  const receiver = await Receiver.start(() => ({ status: response }));
  willClose({ close: () => receiver.stop() });
  const webhooks = [await client.register(receiver.url), await client.register(receiver.url)];
  const ids: string[] = [];
  for (let i = 0; i < 7; i += 1) {
    ids.push(
      await client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, keyword: `word ${i % 3}`, volume: i }),
    );
  }
  const newestFirst = ids.toReversed();
  const expected = newestFirst.filter((id) => ids.indexOf(id) % 3 === 1);
  const wanted = { keyword: 'word 1' };
  const found = () => find(client, 'events', wanted);
  // An event is listed once it is fanned out.
  await until(async () => ((await found()).length === expected.length ? true : undefined));
  expect(await found()).toEqual(expected);

  response = 204;
  for (const webhook of webhooks) {
    for (const id of ids) {
      await until(async () => {
        const { status } = await client.readDelivery(`${id}.${webhook.id}`);
        if (status === 'exhausted')
          await client.request('POST', `/v1/deliveries/${id}.${webhook.id}/redeliver`);
        return status === 'delivered' ? true : undefined;
      });
    }
  }
  expect(await found()).toEqual(expected);
  const [second, first] = webhooks.map(({ id }) => id).toSorted();
  const deliveries = expected.flatMap((id) => [`${id}.${first}`, `${id}.${second}`]);
  expect(await find(client, 'deliveries', wanted, '&status=delivered')).toEqual(deliveries);
  expect(await find(client, 'deliveries', wanted, '&status=exhausted')).toEqual([]);
  expect(await find(client, `webhooks/${first}/deliveries`, { volume: 4.0 })).toEqual([`${ids[4]}.${first}`]);
  expect(await find(client, 'deliveries', {}, '')).toHaveLength(2 * ids.length);

  await client.expect(204, 'DELETE', `/v1/events/${ids[4]}/payload`);
  expect(await found()).toEqual(expected.filter((id) => id !== ids[4]));
  expect(await find(client, 'deliveries', { volume: 4 })).toEqual([]);
  expect(await find(client, 'events', {})).toEqual(newestFirst);
});

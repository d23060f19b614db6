import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import type { AccountId } from '@hookferry/core/domain/account';
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const { name: TYPE, example: DATA } = keywordQuickWin;
const HOUR_MS = 3_600_000;

let api: TestApi;
let accountId: AccountId;
let key: string;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  ({ accountId, key } = await api.issueKey());
});
afterAll(() => api.close());

/** Registered long ago, unless `change` says otherwise. */
async function addEndpoint(change: Partial<Endpoint> = {}): Promise<Endpoint> {
  const endpoint = buildEndpoint({ accountId, ...change });
  await new EndpointStore(api.redis.client, testSealer).create(endpoint);
  return endpoint;
}

async function publish(change: object = {}): Promise<string> {
  const { status, body } = await request(api.url)
    .post('/v1/events')
    .set('authorization', `Bearer ${key}`)
    .send({ type: TYPE, data: DATA, ...change });
  expect([200, 202]).toContain(status);
  return body.id;
}

async function explain(eventId: string, query = '', authorization = key) {
  return await request(api.url)
    .get(`/v1/events/${eventId}/explanations${query}`)
    .set('authorization', `Bearer ${authorization}`);
}

async function explainTo(eventId: string, { id }: Endpoint) {
  const { body } = await explain(eventId, `?webhook_id=${id}`);
  expect(body.data).toHaveLength(1);
  return body.data[0];
}

const filterText = (filter: object) => JSON.stringify(filter);

describe('an explanation of an event for a webhook', () => {
  it('names the conditions of the filter that left it out, and what was found', async () => {
    const filter = filterText({ position: { lte: 10 }, volume: { gte: 1 }, country: 'DE' });
    const endpoint = await addEndpoint({
      events: [TYPE],
      filter,
      uid: 'shop' as NonNullable<Endpoint['uid']>,
    });
    expect(await explainTo(await publish(), endpoint)).toEqual({
      webhook_id: endpoint.id,
      webhook_uid: 'shop',
      webhook_url: endpoint.url,
      delivery_id: null,
      status: null,
      reason: 'filtered',
      detail:
        'Its filter does not let the event pass: position ≤ 10, found 11; country = "DE", found nothing.',
      conditions: [
        { path: 'position', operator: 'lte', expected: 10, found: 11, holds: false },
        { path: 'country', operator: 'eq', expected: 'DE', holds: false },
      ],
      changed_since: false,
    });
  });

  it('keeps settings of webhooks from a key that may not read them', async () => {
    const endpoint = await addEndpoint({ filter: filterText({ position: { lte: 10 } }) });
    const id = await publish();
    const narrow = await api.issueKey({ accountId, scopes: ['deliveries:read'] });
    const { body } = await explain(id, '', narrow.key);
    expect(body.data).toMatchObject([
      { webhook_id: endpoint.id, webhook_url: null, reason: 'filtered', conditions: [] },
    ]);
    expect(body.data[0].detail).not.toContain('10');
  });

  it('says that it is by present settings, where the webhook was changed since', async () => {
    const filter = filterText({ position: { lte: 10 } });
    const id = await publish();
    const changed = { createdAt: 1, updatedAt: Date.now() + HOUR_MS };
    const filtered = await explainTo(id, await addEndpoint({ filter, ...changed }));
    expect(filtered).toMatchObject({ reason: 'filtered', changed_since: true });
    expect(filtered.detail).toMatch(/settings of now/);
    const passes = await explainTo(id, await addEndpoint(changed));
    expect(passes).toMatchObject({ reason: 'changed', changed_since: true });
  });

  it('tells webhooks that were registered later from those that do not subscribe to the type', async () => {
    const id = await publish();
    const later = await addEndpoint({ createdAt: Date.now() + HOUR_MS, updatedAt: Date.now() + HOUR_MS });
    expect(await explainTo(id, later)).toMatchObject({ reason: 'registered_later' });
    const other = await addEndpoint({ events: ['brief.*'] });
    expect(await explainTo(id, other)).toMatchObject({ reason: 'not_subscribed', changed_since: false });
  });

  it('says that the event names other webhooks, and that it is scheduled, or cancelled', async () => {
    const named = await addEndpoint();
    const other = await addEndpoint();
    const aimed = await publish({ webhook_ids: [named.id] });
    expect(await explainTo(aimed, other)).toMatchObject({ reason: 'not_addressed' });
    expect(await explainTo(aimed, named)).toMatchObject({
      reason: null,
      status: 'pending',
      delivery_id: `${aimed}.${named.id}`,
    });
    const scheduled = await publish({ deliver_at: new Date(Date.now() + HOUR_MS).toISOString() });
    expect(await explainTo(scheduled, other)).toMatchObject({ reason: 'not_due' });
    await request(api.url).delete(`/v1/events/${scheduled}`).set('authorization', `Bearer ${key}`);
    expect(await explainTo(scheduled, other)).toMatchObject({ reason: 'event_cancelled' });
  });

  it('shows nothing of an erased payload, and says that the filter cannot be asked', async () => {
    const filtered = await addEndpoint({ filter: filterText({ position: { lte: 10 } }) });
    const id = await publish();
    await request(api.url).delete(`/v1/events/${id}/payload`).set('authorization', `Bearer ${key}`);
    const explained = await explainTo(id, filtered);
    expect(explained).toMatchObject({ reason: 'payload_erased', conditions: [] });
    const found = (explained.detail ?? '') + JSON.stringify(explained.conditions);
    expect(found).not.toContain('11');
  });

  it("is not for another account's event, nor for a webhook that there is not", async () => {
    const endpoint = await addEndpoint();
    const other = await api.issueKey();
    expect((await explain(await publish(), '', other.key)).status).toBe(404);
    expect((await explain('evt_none')).status).toBe(404);
    expect((await explain(await publish(), '?webhook_id=wh_0000000000000000000000')).status).toBe(404);
    expect((await explain(await publish(), `?webhook_id=${endpoint.id}`)).status).toBe(200);
  });
});

describe('the explanations of an event', () => {
  it('come in pages, of all webhooks or of those that it did not go to', async () => {
    const ids = Array.from({ length: 5 }, uniqueEndpointId).toSorted();
    const [first, second, third, fourth, fifth] = ids;
    for (const [i, id] of ids.entries()) {
      const filter = i % 2 === 0 ? undefined : filterText({ position: 1 });
      await addEndpoint({ id, events: i === 4 ? ['brief.*'] : [TYPE], ...(filter && { filter }) });
    }
    const id = await publish();
    expect(await reasonsOf(id, '')).toEqual([
      [fifth, 'not_subscribed'],
      [fourth, 'filtered'],
      [third, null],
      [second, 'filtered'],
      [first, null],
    ]);
    expect(await reasonsOf(id, '&has_delivery=false&subscribed=true')).toEqual([
      [fourth, 'filtered'],
      [second, 'filtered'],
    ]);
    expect(await reasonsOf(id, '&has_delivery=true')).toEqual([
      [third, null],
      [first, null],
    ]);
    expect(await reasonsOf(id, '&subscribed=false')).toEqual([[fifth, 'not_subscribed']]);
  });

  /** Page by page, of two each. */
  async function reasonsOf(id: string, query: string) {
    const found: [string, string | null][] = [];
    let cursor = '';
    for (;;) {
      const { body } = await explain(id, `?limit=2${query}${cursor}`);
      found.push(
        ...body.data.map((one: { webhook_id: string; reason: string | null }) => [
          one.webhook_id,
          one.reason,
        ]),
      );
      expect(body.data.length).toBeLessThanOrEqual(2);
      if (!body.has_more) return found;
      cursor = `&cursor=${body.next_cursor}`;
    }
  }
});

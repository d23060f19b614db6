import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import type { ApiKey } from '@hookferry/core/domain/account';
import {
  type DeliveryId,
  type DeliveryParts,
  deliveryIdOf,
  parseDeliveryId,
} from '@hookferry/core/domain/delivery';
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { keys } from '@hookferry/core/domain/keys';
import { oneShard } from '@hookferry/core/domain/queues';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { createClosables } from '@hookferry/core/testing/closables';
import { noSessions } from '@hookferry/core/testing/no-sessions';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import type { ApiContext } from '../context';
import { LongAnswers } from '../http/long-requests';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';
import { exportDeliveries } from './export';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
const DAY_MS = 86_400_000;

let api: TestApi;
let key: string;
let endpoint: Endpoint;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  const issued = await api.issueKey();
  key = issued.key;
  endpoint = buildEndpoint({ accountId: issued.accountId });
  await new EndpointStore(api.redis.client, testSealer).create(endpoint);
});
const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterAll(() => api.close());

interface Line {
  readonly delivery_id: string;
  readonly attempt: { readonly number: number };
  readonly cursor: string;
}

async function ask(query = '', url = api.url): Promise<Response> {
  return await fetch(`${url}/v1/deliveries/export${query}`, { headers: { authorization: `Bearer ${key}` } });
}

async function lines(query = ''): Promise<readonly Line[]> {
  const text = await (await ask(query)).text();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** A delivery with so many failed attempts. Gives its id. */
async function saved(acceptedAt = ACCEPTED_AT, attempts = 1) {
  const { accountId, id: endpointId } = endpoint;
  const event = buildEvent({ accountId, acceptedAt });
  const deliveryStore = new DeliveryStore(api.redis.client, testRetention);
  const eventStore = new EventStore(api.redis.client, testRetention);
  const parts = { eventId: event.id, endpointId };
  await eventStore.save(event);
  await eventStore.enlist(event);
  await eventStore.addReceivers(accountId, event.id, [endpointId]);
  await deliveryStore.enlist(event.id, [endpointId], acceptedAt);
  for (let number = 1; number <= attempts; number += 1) {
    const attempt = buildAttempt({ number, startedAt: acceptedAt + number });
    await deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: acceptedAt + 60_000 });
  }
  return deliveryIdOf(parts);
}

it('gives a line for each attempt, as it is in the delivery when that is read alone', async () => {
  const id = await saved(ACCEPTED_AT, 2);
  const headers = { authorization: `Bearer ${key}` };
  const { body } = await request(api.url).get(`/v1/deliveries/${id}`).set(headers);
  const { event_id, webhook_id, type, status, created_at, attempts } = body;
  const response = await ask();
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const own = { delivery_id: id, event_id, webhook_id, type, status, created_at };
  expect(
    (await response.text())
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  ).toEqual(attempts.map((attempt: object) => ({ ...own, attempt, cursor: expect.any(String) })));
});

it('goes on after any line by its cursor', async () => {
  for (let i = 0; i < 3; i += 1) await saved(ACCEPTED_AT, 2);
  const all = await lines();
  expect(all).toHaveLength(6);
  for (const [index, { cursor }] of all.entries()) {
    expect(await lines(`?cursor=${cursor}`)).toEqual(all.slice(index + 1));
  }
});

it.each([
  ['', ['first', 'second', 'now']],
  ['?since=2026-11-21T12:00:00.001Z', ['second', 'now']],
  ['?until=2026-11-21T12:00:00.001Z', ['first']],
  ['?limit=2', ['first', 'second']],
  ['?webhook_id=crm', ['first', 'second', 'now']],
])('gives with %j what is asked for', async (query, expected) => {
  endpoint = { ...endpoint, id: uniqueEndpointId(), uid: 'crm' as never };
  await new EndpointStore(api.redis.client, testSealer).create(endpoint);
  const names = new Map<string, string>([
    [await saved(), 'first'],
    [await saved(ACCEPTED_AT + 1), 'second'],
    [await saved(Date.now()), 'now'],
  ]);
  expect((await lines(query)).map((line) => names.get(line.delivery_id))).toEqual(expected);
});

it('leaves out what is accepted after it was asked for, so that it has an end', async () => {
  await saved(Date.now() + DAY_MS);
  expect(await lines()).toEqual([]);
});

it.each([
  ['since=yesterday', '?/since'],
  ['limit=0', '?/limit'],
  ['limit=1000001', '?/limit'],
  ['limit=', '?/limit'],
  ['cursor=x', '?/cursor'],
  ['cursor=e30', '?/cursor'],
  ['webhook_id=no%20id', '?/webhook_id'],
])('refuses ?%s with 422', async (query, pointer) => {
  const response = await ask(`?${query}`);
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ errors: [{ pointer }] });
});

it("refuses a webhook that is not the account's with 404", async () => {
  const foreign = buildEndpoint();
  await new EndpointStore(api.redis.client, testSealer).create(foreign);
  for (const id of [foreign.id, uniqueEndpointId()]) {
    expect((await ask(`?webhook_id=${id}`)).status).toBe(404);
  }
});

it('breaks off when Redis falls silent in the middle, and goes on later from the last line that came', async () => {
  const ids: DeliveryId[] = [];
  for (let i = 0; i < 120; i += 1) ids.push(await saved(ACCEPTED_AT + i, 2));
  const proxy = willClose(await startRedisProxy(api.redis.url));
  const own = willClose(await startApi({ REDIS_URL: proxy.url }));
  await untilReady(own.url);
  const { eventId, endpointId } = parseDeliveryId(ids[70] ?? '') as DeliveryParts;
  const held = proxy.hold(keys.delivery(endpointId, eventId));

  const came: Line[] = [];
  await expect(readLines(await ask('', own.url), came)).rejects.toThrow();
  await held;
  expect(own.signals.named('request.failed')).toMatchObject([{ error: { code: 'storage_unavailable' } }]);

  expect(came).toHaveLength(140);
  const rest = await lines(`?cursor=${came.at(-1)?.cursor}`);
  const places = [...came, ...rest].map((line) => `${line.delivery_id} ${line.attempt.number}`);
  expect(places).toEqual(ids.flatMap((id) => [`${id} 1`, `${id} 2`]));
});

/** What an export works with; `findKey` looks for its key each time that it is asked whether the key is still good. */
function contextOf(key: string, findKey: () => Promise<ApiKey | undefined>) {
  const { client } = api.redis;
  return {
    endpointStore: new EndpointStore(client, testSealer),
    eventStore: new EventStore(client, testRetention),
    deliveryStore: new DeliveryStore(client, testRetention),
    heldDeliveries: new HeldDeliveries(client, oneShard('bull')),
    longAnswers: new LongAnswers(),
    accountStore: new AccountStore(client),
    ...noSessions,
    key,
    apiKeyStore: { find: findKey },
    clock: Date.now,
  };
}

/** The parts of an export, as the route gives them. */
async function partsOf(context: ReturnType<typeof contextOf>, end = new AbortController()) {
  const { accountId } = endpoint;
  const input = {
    apiKey: { accountId },
    query: {},
    receivedAt: Date.now(),
    header: () => `Bearer ${context.key}`,
  };
  const reply = await exportDeliveries.handle(input as never, context as unknown as ApiContext);
  const connection = { signal: end.signal, close: () => end.abort() };
  return reply.lines?.(connection)[Symbol.asyncIterator]();
}

it('turns few attempts into text at a time, and keeps an account to two exports at once', async () => {
  const { key, record } = buildApiKey();
  const context = contextOf(key, async () => record);
  const parts = {
    eventId: parseDeliveryId(await saved(ACCEPTED_AT, 0))?.eventId ?? uniqueEventId(),
    endpointId: endpoint.id,
  };
  const attempt = buildAttempt({ responseBody: 'x'.repeat(30_000) });
  for (let i = 0; i < 10; i += 1) {
    await context.deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: ACCEPTED_AT });
  }
  const [first, second, third] = [await partsOf(context), await partsOf(context), await partsOf(context)];
  const part = await first?.next();
  expect(String(part?.value).split('\n')).toHaveLength(4);
  await second?.next();
  await expect(third?.next()).rejects.toMatchObject({ code: 'rate_limited' });
});

it('breaks off within seconds when its key is refused, however slowly it is read', async () => {
  const end = new AbortController();
  const context = contextOf(buildApiKey().key, async () => undefined);
  // Events without end, of which nothing is kept any more.
  jest
    .spyOn(context.eventStore, 'listFrom')
    .mockImplementation(async () => Array.from({ length: 100 }, () => ({ id: uniqueEventId(), at: 0 })));
  const parts = await partsOf(context, end);
  // It has an end by the refusal alone.
  await expect(parts?.next()).rejects.toMatchObject({ name: 'AbortError' });
  expect(end.signal.aborted).toBe(true);
});

/** Puts the whole lines of an answer into `into` as they come. */
async function readLines(response: Response, into: Line[]): Promise<void> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const whole = text.split('\n');
    text = whole.pop() ?? '';
    into.push(...whole.map((line) => JSON.parse(line) as Line));
  }
}

import type { DeliveryParts } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueEndpointId } from '../testing/unique-ids';
import { type ExportCursor, type ExportedAttempt, type ExportScope, Exports } from './exports';
import { Recent } from './redis-recent';
import { WholeHistory } from './whole-history';

const ACCEPTED_AT = 1_700_000_000_000;
const ALWAYS = { since: 0, until: Number.MAX_SAFE_INTEGER };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

async function arrange() {
  const kept = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
  };
  const history = new WholeHistory(new Recent(kept));
  const stores = { ...kept, exports: new Exports({ ...kept, history }) };
  const endpoint = buildEndpoint();
  const { accountId } = endpoint;
  await stores.endpointStore.create(endpoint);

  /** An event with a delivery to each of the endpoints, each with so many attempts. */
  async function publish(
    acceptedAt: number,
    endpointIds: readonly EndpointId[] = [endpoint.id],
    attempts = 1,
  ) {
    const event = buildEvent({ accountId, acceptedAt });
    await stores.eventStore.save(event)(redis.client);
    await stores.eventStore.enlistAll([{ event, deliveries: 0 }])(redis.client);
    await stores.eventStore.addReceivers(accountId, event.id, endpointIds)(redis.client);
    await stores.deliveryStore.enlistAll(buildNewDeliveries(event.id, endpointIds, acceptedAt))(redis.client);
    for (const endpointId of endpointIds) {
      for (let number = 1; number <= attempts; number += 1)
        await attempt({ endpointId, eventId: event.id }, number);
    }
    return event.id;
  }

  async function attempt(parts: DeliveryParts, number: number): Promise<void> {
    const fact = { kind: 'attempted', attempt: buildAttempt({ number }), nextAttemptAt: 1 } as const;
    await stores.deliveryStore.append(parts, fact);
  }

  async function exported(after?: ExportCursor, scope: Partial<ExportScope> = {}) {
    const all: ExportedAttempt[] = [];
    for await (const page of stores.exports.attempts(accountId, { range: ALWAYS, ...scope }, after))
      all.push(...page);
    return all;
  }

  return { ...stores, endpoint, accountId, publish, attempt, exported };
}

const positionOf = ({ id, attempt }: ExportedAttempt) => `${id} ${attempt.number}`;

it('gives each attempt with the delivery that it belongs to, as that stands now', async () => {
  const { publish, deliveryStore, endpoint, exported } = await arrange();
  const eventId = await publish(ACCEPTED_AT);
  const parts = { eventId, endpointId: endpoint.id };
  const attempt = buildAcceptedAttempt({ number: 2 });
  await deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: undefined });

  const delivery = {
    ...parts,
    id: `${eventId}.${endpoint.id}`,
    type: 'keyword.quick_win',
    createdAt: ACCEPTED_AT,
    status: 'delivered',
  };
  const cursor = { ...parts, createdAt: ACCEPTED_AT };
  expect(await exported()).toEqual([
    { ...delivery, attempt: buildAttempt(), cursor: { ...cursor, attempts: 1 } },
    { ...delivery, attempt, cursor: { ...cursor, attempts: 2 } },
  ]);
});

it('goes by the acceptance of the events, and gives those of deleted endpoints as well', async () => {
  const { publish, endpoint, exported } = await arrange();
  const deleted = uniqueEndpointId();
  const last = await publish(ACCEPTED_AT + 2);
  const first = await publish(ACCEPTED_AT, [endpoint.id, deleted]);
  const nowhere = await publish(ACCEPTED_AT + 1, [endpoint.id], 0);

  const found = await exported();
  const receivers = [endpoint.id, deleted].toSorted().toReversed();
  expect(found.map(({ id }) => id)).toEqual([
    ...receivers.map((endpointId) => `${first}.${endpointId}`),
    `${last}.${endpoint.id}`,
  ]);
  expect(found.map(({ eventId }) => eventId)).not.toContain(nowhere);
});

it('gives everything once, however many events there are, and endpoints that one went to', async () => {
  const { publish, endpoint, exported } = await arrange();
  for (let i = 0; i < 230; i += 1) await publish(ACCEPTED_AT + Math.floor(i / 40));
  const many = Array.from({ length: 230 }, uniqueEndpointId);
  await publish(ACCEPTED_AT + 3, many);

  const places = (await exported()).map(positionOf);
  expect(new Set(places).size).toBe(460);
  expect(places.length).toBe(460);
  expect(await exported(undefined, { endpoint: endpoint.id })).toHaveLength(230);
});

it.each(['account', 'endpoint'])("goes on after any attempt of an %s's export by its cursor", async (of) => {
  const { publish, endpoint, exported } = await arrange();
  const both = [endpoint.id, uniqueEndpointId()];
  for (let i = 0; i < 4; i += 1) await publish(ACCEPTED_AT + Math.floor(i / 2), both, 3);

  const scope = of === 'endpoint' ? { endpoint: endpoint.id } : {};
  const all = await exported(undefined, scope);
  expect(all).toHaveLength(of === 'endpoint' ? 12 : 24);
  for (const [index, { cursor }] of all.entries()) {
    expect(await exported(cursor, scope)).toEqual(all.slice(index + 1));
  }
});

it('goes on where it was, though attempts and events came in and others went', async () => {
  const { publish, attempt, endpoint, accountId, exported } = await arrange();
  const events: EventId[] = [];
  for (let i = 0; i < 3; i += 1) events.push(await publish(ACCEPTED_AT + 10 * i, [endpoint.id], 2));
  const before = await exported();
  const [, second] = before;

  const [first, gone, later] = events as [EventId, EventId, EventId];
  await attempt({ eventId: first, endpointId: endpoint.id }, 3);
  const between = await publish(ACCEPTED_AT + 5);
  await publish(ACCEPTED_AT - 5);
  await redis.client.del(keys.event(accountId, gone));
  await redis.client.zrem(keys.events(accountId), gone);

  const rest = await exported(second?.cursor);
  expect(rest.map(positionOf)).toEqual([
    `${first}.${endpoint.id} 3`,
    `${between}.${endpoint.id} 1`,
    `${later}.${endpoint.id} 1`,
    `${later}.${endpoint.id} 2`,
  ]);
});

it('keeps two attempts apart that have the same number, made by two workers that both believed to own the delivery', async () => {
  const { publish, attempt, endpoint, exported } = await arrange();
  const eventId = await publish(ACCEPTED_AT);
  await attempt({ eventId, endpointId: endpoint.id }, 1);
  const [first, second] = await exported();
  expect(await exported(first?.cursor)).toEqual([second]);
});

it('keeps to the range, the endpoint and the limit that it is given', async () => {
  const { publish, endpoint, endpointStore, accountId, exported } = await arrange();
  const other = buildEndpoint({ accountId, uid: 'other' as never });
  await endpointStore.create(other);
  const both = [endpoint.id, other.id];
  const events = [
    await publish(ACCEPTED_AT, both),
    await publish(ACCEPTED_AT + 1, both),
    await publish(ACCEPTED_AT + 2, both),
  ];

  const range = { since: ACCEPTED_AT + 1, until: ACCEPTED_AT + 2 };
  const inSpan = await exported(undefined, { range });
  expect(inSpan.map(({ eventId }) => eventId)).toEqual([events[1], events[1]]);
  const ofOther = await exported(undefined, { endpoint: 'other' as never });
  expect(ofOther.map(({ id }) => id)).toEqual(events.map((eventId) => `${eventId}.${other.id}`));
  const all = await exported();
  expect(await exported(undefined, { limit: 3 })).toEqual(all.slice(0, 3));
  expect(await exported(all[2]?.cursor, { limit: 2 })).toEqual(all.slice(3, 5));
});

it("shows nothing of another account's, whatever its cursor says", async () => {
  const mine = await arrange();
  const theirs = await arrange();
  const eventId = await theirs.publish(ACCEPTED_AT);
  // An id that publishers choose may be another account's event as well.
  const event = buildEvent({ id: eventId, accountId: mine.accountId, acceptedAt: ACCEPTED_AT });
  await mine.eventStore.save(event)(redis.client);
  await mine.eventStore.enlistAll([{ event, deliveries: 0 }])(redis.client);
  await mine.eventStore.addReceivers(mine.accountId, eventId, [mine.endpoint.id])(redis.client);

  const cursor = { createdAt: ACCEPTED_AT, eventId, endpointId: theirs.endpoint.id, attempts: 0 };
  expect(await mine.exported(cursor)).toEqual([]);
  await expect(mine.exported(cursor, { endpoint: theirs.endpoint.id })).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('reads no further than it is asked for', async () => {
  const { publish, accountId, ...stores } = await arrange();
  for (let i = 0; i < 120; i += 1) await publish(ACCEPTED_AT + i);
  const readLog = jest.spyOn(stores.deliveryStore, 'readIfAny');
  const pages = stores.exports.attempts(accountId, { range: ALWAYS });
  await pages.next();
  expect(readLog).toHaveBeenCalledTimes(10);
  await pages.return();
  expect(readLog).toHaveBeenCalledTimes(10);
});

it('stops when nobody wants it any more, also where it finds nothing for long', async () => {
  const { accountId, ...stores } = await arrange();
  const { eventStore } = stores;
  for (let i = 0; i < 210; i += 1)
    await eventStore.enlistAll([
      { event: buildEvent({ accountId, acceptedAt: ACCEPTED_AT + i }), deliveries: 0 },
    ])(redis.client);
  const end = new AbortController();
  const listFrom = eventStore.listFrom.bind(eventStore);
  const listed = jest.spyOn(eventStore, 'listFrom').mockImplementation((...page) => {
    end.abort();
    return listFrom(...page);
  });
  const attempts = stores.exports.attempts(accountId, { range: ALWAYS }, undefined, end.signal);
  await expect(attempts.next()).rejects.toThrow(end.signal.reason);
  expect(listed).toHaveBeenCalledTimes(1);
});

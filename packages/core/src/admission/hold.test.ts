import { keys } from '../redis/keys';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate } from '../testing/build-gate';
import { readParked } from '../testing/read-parked';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { HoldInput } from './hold';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function arrange(change: Partial<HoldInput> = {}) {
  const input: HoldInput = {
    accountId: uniqueAccountId(),
    endpointId: uniqueEndpointId(),
    eventId: uniqueEventId(),
    acceptedAt: NOW - 1_000,
    side: 'first',
    ...change,
  };
  return { ...buildGate({ redis: redis.client, clock: () => NOW }), input };
}

const disabled = { kind: 'wait', reason: 'disabled', wakeAt: undefined } as const;
const busy = { kind: 'wait', reason: 'busy', wakeAt: NOW + 10_000 } as const;
const open = { kind: 'wait', reason: 'breaker_open', wakeAt: NOW + 1_000 } as const;

it.each(['first', 'second'] as const)('parks to be released by the %s job', async (side) => {
  const { hold, input, endpointStore } = arrange({ side });
  const { accountId, endpointId: id } = input;
  await endpointStore.create(buildEndpoint({ accountId, id, status: 'disabled', disabledReason: 'client' }));
  await hold(input, disabled);
  expect(await readParked(redis.client, id)).toEqual([{ eventId: input.eventId, side }]);
});

it('parks by the time of acceptance, not by the time of waiting', async () => {
  const { hold, input } = arrange();
  const older = { ...input, eventId: uniqueEventId(), acceptedAt: input.acceptedAt - 1 };
  await hold(input, busy);
  await hold(older, busy);
  const parked = await readParked(redis.client, input.endpointId);
  expect(parked.map(({ eventId }) => eventId)).toEqual([older.eventId, input.eventId]);
});

it.each([busy, open])('has the gate looked at when the time has come: %j', async (admission) => {
  const { hold, input, wakes } = arrange();
  await hold(input, admission);
  const { accountId, endpointId } = input;
  expect(wakes.asked).toEqual([{ accountId, endpointId, at: admission.wakeAt }]);
});

it('waits for nothing but a client at a disabled endpoint', async () => {
  const { hold, input, endpointStore, wakes, waitingHere } = arrange();
  const { accountId, endpointId: id } = input;
  await endpointStore.create(buildEndpoint({ accountId, id, status: 'disabled', disabledReason: 'client' }));
  await hold(input, disabled);
  expect(wakes.asked).toEqual([]);
  expect(waitingHere.size).toBe(0);
});

it('goes at once when its endpoint was enabled before it was parked, or it would wait for ever', async () => {
  const { hold, input, endpointStore, releases } = arrange();
  const { accountId, endpointId, eventId, side } = input;
  await endpointStore.create(buildEndpoint({ id: endpointId, accountId, status: 'enabled' }));
  await hold(input, disabled);
  expect(releases.released).toEqual([{ accountId, endpointId, parked: { eventId, side } }]);
});

it('goes at once when a permit came free before it was parked', async () => {
  const { hold, input, endpointStore, releases } = arrange();
  const { accountId, endpointId: id } = input;
  await endpointStore.create(buildEndpoint({ id, accountId, rateLimit: 1 }));
  await hold(input, { reason: 'rate_limited', wakeAt: undefined });
  expect(releases.released).toHaveLength(1);
});

it('leaves a gate whose endpoint has secrets that can not be read to its own job, and breaks nothing off', async () => {
  const { hold, input, endpointStore, parkedStore, wakes } = arrange();
  const { accountId, endpointId: id, eventId } = input;
  const elsewhere = buildEndpoint({ id, ordering: 'strict' });
  await endpointStore.create(elsewhere);
  // A record that was copied from another account can not be opened.
  const record = await redis.client.hget(keys.endpoints(elsewhere.accountId), id);
  await redis.client.hset(keys.endpoints(accountId), id, record ?? '');
  await hold(input, { reason: 'out_of_turn', wakeAt: undefined });
  expect(await parkedStore.isParked(id, eventId)).toBe(true);
  expect(wakes.asked).toEqual([{ accountId, endpointId: id, at: NOW }]);
});

it("goes at once when it is nobody else's turn", async () => {
  const { hold, input, endpointStore, releases, turnStore } = arrange();
  const { accountId, endpointId: id, eventId } = input;
  await endpointStore.create(buildEndpoint({ id, accountId, ordering: 'strict' }));
  await hold(input, { reason: 'out_of_turn', wakeAt: undefined });
  expect(releases.released).toHaveLength(1);
  expect(await turnStore.isTurnOf(id, eventId)).toBe(true);
});

it('remembers that others wait when there was no place, so that the next one to end lets them through', async () => {
  const { hold, input, waitingHere } = arrange();
  await hold(input, busy);
  expect([...waitingHere]).toEqual([input.endpointId]);
});

it('is announced, with its reason', async () => {
  const { hold, input, signals } = arrange();
  await hold(input, open);
  const { endpointId, eventId } = input;
  expect(signals.named('delivery.held')).toEqual([
    { name: 'delivery.held', endpointId, eventId, reason: 'breaker_open' },
  ]);
});

it('keeps what comes here later than events are kept, and makes room for it where an event is gone', async () => {
  const { hold, input } = arrange({ acceptedAt: NOW - 30 * 86_400_000 });
  const { accountId, endpointId, eventId } = input;
  await redis.client.set(keys.event(accountId, eventId), 'is kept');
  await hold({ ...input, eventId: uniqueEventId() }, busy);
  await hold(input, busy);
  expect(await readParked(redis.client, endpointId)).toEqual([{ eventId, side: 'first' }]);
});

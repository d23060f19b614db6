import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate } from '../testing/build-gate';
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

it.each([
  ['first', 'second'],
  ['second', 'first'],
] as const)('parks what its %s job holds to be released by the %s', async (side, releasedBy) => {
  const { hold, input, parkedStore } = arrange({ side });
  await hold(input, disabled);
  expect(await parkedStore.listParked(input.endpointId, 10)).toEqual([
    { eventId: input.eventId, side: releasedBy },
  ]);
});

it('parks by the time of acceptance, not by the time of waiting', async () => {
  const { hold, input, parkedStore } = arrange();
  const older = { ...input, eventId: uniqueEventId(), acceptedAt: input.acceptedAt - 1 };
  await hold(input, disabled);
  await hold(older, disabled);
  const parked = await parkedStore.listParked(input.endpointId, 10);
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

it('has the gate looked at now when its endpoint was enabled before it was parked, or it would wait for ever', async () => {
  const { hold, input, endpointStore, wakes } = arrange();
  const { accountId, endpointId } = input;
  await endpointStore.create(buildEndpoint({ id: endpointId, accountId, status: 'enabled' }));
  await hold(input, disabled);
  expect(wakes.asked).toEqual([{ accountId, endpointId, at: NOW }]);
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

import { buildAdmission } from '../testing/build-admission';
import { readHeld } from '../testing/read-held';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createHold, type HoldInput } from './hold';

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function arrange({ random = 0, ...change }: Partial<HoldInput> & { readonly random?: number } = {}) {
  const input: HoldInput = {
    accountId: uniqueAccountId(),
    endpointId: uniqueEndpointId(),
    eventId: uniqueEventId(),
    acceptedAt: NOW - 1_000,
    reason: 'busy',
    lookAt: NOW + 100,
    isForAll: false,
    ...change,
  };
  const admission = buildAdmission({ redis: redis.client, clock: () => NOW });
  const asked: string[] = [];
  const releaser = {
    lookAt: (_accountId: string, endpointId: string, at: number) => asked.push(`${endpointId} at ${at}`),
    awaitSlot: (_accountId: string, endpointId: string) => asked.push(`${endpointId} with a slot`),
  };
  return { ...admission, hold: createHold({ ...admission, random: () => random, releaser }), input, asked };
}

it('enters a delivery by the time of its acceptance, not of its waiting', async () => {
  const { hold, input, heldDeliveries } = arrange();
  const older = { ...input, eventId: uniqueEventId(), acceptedAt: input.acceptedAt - 1 };
  await hold(input);
  await hold(older);
  expect(await readHeld(heldDeliveries, input.endpointId)).toEqual([older.eventId, input.eventId]);
});

it('asks for a look, in Redis for everybody and here, where it is known at once', async () => {
  const { hold, input, heldDeliveries, asked } = arrange();
  await hold(input);
  expect(await heldDeliveries.lookDueAt(input)).toBe(NOW + 100);
  expect(asked).toEqual([`${input.endpointId} at ${NOW + 100}`]);
});

it('waits for a slot as well if that is what it lacks', async () => {
  const { hold, input, asked } = arrange({ awaitsSlot: true });
  await hold(input);
  expect(asked).toContain(`${input.endpointId} with a slot`);
});

it.each([
  [0, HOUR_MS],
  [0.5, 1.5 * HOUR_MS],
  [0.999_999_999, 2 * HOUR_MS],
])(
  'has the job come back by itself after an hour or two, whatever is forgotten: %d',
  async (random, delayMs) => {
    const { hold, input } = arrange({ random });
    expect(await hold(input)).toBe(delayMs);
  },
);

it('is announced, with its reason', async () => {
  const { hold, input, signals } = arrange({ reason: 'breaker_open' });
  await hold(input);
  const { accountId, endpointId, eventId } = input;
  expect(signals.named('delivery.held')).toEqual([
    { name: 'delivery.held', accountId, endpointId, eventId, reason: 'breaker_open' },
  ]);
});

it('holds those along that would be refused next, and announces each', async () => {
  const { hold, input, signals, deliveryQueue, heldDeliveries } = arrange({ isForAll: true });
  const { accountId, endpointId, acceptedAt } = input;
  const eventId = uniqueEventId();
  await deliveryQueue.addAll([{ accountId, endpointId, eventId, acceptedAt: acceptedAt + 1 }]);
  await hold(input);
  expect(await readHeld(heldDeliveries, endpointId)).toEqual([input.eventId, eventId]);
  expect(signals.named('delivery.held').map((signal) => signal.eventId)).toEqual([input.eventId, eventId]);
});

it('announces nothing that Redis did not take, so that the job is not put off without an entry', async () => {
  const { input, signals, ...admission } = arrange();
  const heldDeliveries = { enter: () => Promise.reject(new Error('OOM')) };
  const hold = createHold({ ...admission, heldDeliveries, releaser: { lookAt() {}, awaitSlot() {} } });
  await expect(hold(input)).rejects.toThrow('OOM');
  expect(signals.named('delivery.held')).toEqual([]);
});

import type { UsageRecorder } from '../accounts/account-quota';
import type { EndpointId } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import type { UsageKind } from '../domain/usage';
import { buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { DeliveryStore } from './redis-delivery-store';
import { EventReleaser } from './redis-event-release';
import { EventStore } from './redis-event-store';

const DAY = 86_400_000;
const NOW = 1_700_000_000_000;
const KEPT = 2;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** An account whose lists keep two events each. */
function build() {
  const { client } = redis;
  const accountId = uniqueAccountId();
  const signals = recordSignals();
  const noted: { kind: UsageKind; bytes: number }[] = [];
  const releaser = new EventReleaser({
    redis: client,
    usageRecorder: fake<UsageRecorder>({ note: (_id, kind, bytes) => void noted.push({ kind, bytes }) }),
    emit: signals.listen,
  });
  const retention = { ageMs: DAY, count: KEPT };
  const onPruned = releaser.add;
  const eventStore = new EventStore(client, retention, undefined, { onPruned });
  const deliveryStore = new DeliveryStore(client, retention, onPruned);
  let number = 0;
  return {
    accountId,
    noted,
    releaser,
    /** Gives an event the places that a fan-out gives it. */
    async fanOut(...endpointIds: EndpointId[]): Promise<AcceptedEvent> {
      number += 1;
      const event = buildEvent({ accountId, acceptedAt: NOW + number });
      await eventStore.save(event)(redis.client);
      await deliveryStore.enlistAll(buildNewDeliveries(event.id, endpointIds, event.acceptedAt, accountId))(
        redis.client,
      );
      await eventStore.enlistAll([{ event, deliveries: endpointIds.length }])(redis.client);
      await eventStore.addReceivers(accountId, event.id, endpointIds)(redis.client);
      return event;
    },
    async deliver(event: AcceptedEvent, endpointId: EndpointId, nextAttemptAt?: number) {
      const fact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt } as const;
      await deliveryStore.append({ eventId: event.id, endpointId }, fact);
    },
    isThere: async (event: AcceptedEvent) => (await client.exists(keys.event(accountId, event.id))) === 1,
    // What has just been let go of waits for one turn more.
    async turnTwice() {
      await releaser.turn();
      await releaser.turn();
    },
    close: () => releaser.stop(),
  };
}

it('lets go of the body of an event when the last list has let go of it', async () => {
  const { fanOut, deliver, isThere, turnTwice, noted, close } = build();
  const [one, other] = [uniqueEndpointId(), uniqueEndpointId()];
  const first = await fanOut(one, other);
  await deliver(first, one);
  await deliver(first, other);
  // Its account's list and one of the two endpoints' are full without it; the other's has it still.
  await fanOut(one);
  await fanOut(one);
  await turnTwice();
  expect(await isThere(first)).toBe(true);
  await fanOut(other);
  await fanOut(other);
  await turnTwice();
  expect(await isThere(first)).toBe(false);
  expect(noted).toContainEqual({ kind: 'events', bytes: expect.any(Number) });
  expect(noted.every(({ bytes }) => bytes < 0)).toBe(true);
  await close();
});

it.each([
  ['was never tried', async () => {}],
  [
    'is tried again',
    async ({ deliver }: ReturnType<typeof build>, event: AcceptedEvent, endpointId: EndpointId) =>
      await deliver(event, endpointId, NOW),
  ],
])('keeps the body of an event whose delivery %s, however many came after it', async (_what, arrange) => {
  const built = build();
  const endpointId = uniqueEndpointId();
  const first = await built.fanOut(endpointId);
  await arrange(built, first, endpointId);
  for (let i = 0; i < 5; i += 1) await built.fanOut(endpointId);
  await built.turnTwice();
  expect(await built.isThere(first)).toBe(true);
  await built.close();
});

it('lets go of the body of an event that nobody asked for with its place in the list of its account', async () => {
  const { fanOut, isThere, turnTwice, close } = build();
  const events = [];
  for (let i = 0; i < 5; i += 1) events.push(await fanOut());
  await turnTwice();
  expect(await Promise.all(events.map(isThere))).toEqual([false, false, false, true, true]);
  await close();
});

it('leaves an event alone for one turn, since it may just be in the middle of its fan-out', async () => {
  const { fanOut, isThere, releaser, close } = build();
  const first = await fanOut();
  await fanOut();
  await fanOut();
  await releaser.turn();
  expect(await isThere(first)).toBe(true);
  await releaser.turn();
  expect(await isThere(first)).toBe(false);
  await close();
});

import {
  type AsyncCommand,
  assert,
  asyncModelRun,
  asyncProperty,
  commands,
  constant,
  integer,
} from 'fast-check';
import { deliveryIdOf } from '../domain/delivery';
import type { DeliveryFact } from '../domain/delivery-fact';
import type { EndStatus } from '../domain/delivery-log';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { DeliveryCounter } from '../history/count-deliveries';
import { Deliveries, type Delivery } from '../history/deliveries';
import type { ShownStatus } from '../history/delivery-standings';
import { Recent } from '../history/redis-recent';
import { WholeHistory } from '../history/whole-history';
import { systemClock } from '../platform/clock';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildVerification } from '../testing/build-verification';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** What a delivery ought to be like: the rules in their shortest form. */
interface Model {
  end: EndStatus | undefined;
  isHeld: boolean;
  attempts: number;
  nextAttemptAt: number | undefined;
}

type Real = Awaited<ReturnType<typeof arrange>>;
type Step = AsyncCommand<Model, Real>;

/** A delivery, and what two workers and its readers do with it. */
async function arrange() {
  const stores = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
    deliveryHolds: new DeliveryHolds(redis.client, oneShard('bull')),
  };
  const endpoint = buildEndpoint();
  const event = buildEvent({ accountId: endpoint.accountId, acceptedAt: systemClock() });
  const parts = { eventId: event.id, endpointId: endpoint.id };
  const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
  await stores.endpointStore.create(endpoint, 1);
  await stores.eventStore.save(event)(redis.client);
  await stores.eventStore.addReceivers(event.accountId, event.id, [endpoint.id])(redis.client);
  await stores.deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpoint.id], event.acceptedAt))(
    redis.client,
  );
  const deliveries = new Deliveries({
    ...stores,
    history: new WholeHistory(new Recent(stores)),
    admissionStore: new AdmissionStore(redis.client),
    besideLanes: new BesideLanes(redis.client),
    ...buildVerification(redis.client),
    clock: systemClock,
  });
  const deliveryCounter = new DeliveryCounter(stores);
  return {
    append: (fact: DeliveryFact) => stores.deliveryStore.append(parts, fact),
    async hold() {
      await stores.heldDeliveries.enter(
        address,
        { eventId: event.id, acceptedAt: event.acceptedAt },
        0,
        'busy',
      );
    },
    async release() {
      const request = { most: 1, wakeUpWasDueAt: undefined, wakeUpAgainAt: Number.MAX_SAFE_INTEGER, now: 0 };
      await stores.heldDeliveries.release(address, request);
    },
    async readEverywhere() {
      const [alone, ofEndpoint, ofEvent, counts] = await Promise.all([
        deliveries.read(event.accountId, deliveryIdOf(parts)),
        deliveries.list(event.accountId, { endpoint: endpoint.id }, {}, 10),
        deliveries.listOfEvent(event.accountId, event.id, {}, 10),
        deliveryCounter.countOf(event.accountId, event.id),
      ]);
      return { shown: [alone, ...ofEndpoint.deliveries, ...ofEvent.deliveries], counts };
    },
  };
}

const shownStatus = ({ end, isHeld }: Model): ShownStatus => end ?? (isHeld ? 'held' : 'pending');

async function check(model: Model, real: Real): Promise<void> {
  const { shown, counts } = await real.readEverywhere();
  const status = shownStatus(model);
  const nextAttemptAt = status === 'held' ? undefined : model.nextAttemptAt;
  const expected = { status, attemptCount: model.attempts, nextAttemptAt };
  const summary = (delivery: Delivery) => ({
    status: delivery.status,
    attemptCount: delivery.attemptCount,
    nextAttemptAt: delivery.nextAttemptAt,
  });
  expect(shown.map(summary)).toEqual([expected, expected, expected]);
  expect(counts).toMatchObject({ total: 1, [status]: 1 });
}

/** A worker's record, whatever other workers have: two may believe to own the delivery. */
function appends(name: string, fact: (number: number) => DeliveryFact, change: (model: Model) => void): Step {
  return {
    check: () => true,
    async run(model, real) {
      const wasDelivered = model.end === 'delivered';
      await real.append(fact(model.attempts + 1));
      change(model);
      // Once delivered, always delivered.
      if (wasDelivered) Object.assign(model, { end: 'delivered', nextAttemptAt: undefined });
      await check(model, real);
    },
    toString: () => name,
  };
}

function ends(end: EndStatus, attempts: 0 | 1) {
  return (model: Model) => {
    model.attempts += attempts;
    Object.assign(model, { end, nextAttemptAt: undefined });
  };
}

const attempted = (change: Partial<Extract<DeliveryFact, { kind: 'attempted' }>>) => (number: number) =>
  ({ kind: 'attempted', attempt: buildAttempt({ number }), nextAttemptAt: undefined, ...change }) as const;

const accepted = (number: number) =>
  ({ kind: 'attempted', attempt: buildAcceptedAttempt({ number }), nextAttemptAt: undefined }) as const;

const steps = [
  constant(appends('accepted', accepted, ends('delivered', 1))),
  constant(appends('failed for the last time', attempted({}), ends('exhausted', 1))),
  constant(appends('aborted', attempted({ isAborted: true }), ends('aborted', 1))),
  constant(
    appends('cancelled', () => ({ kind: 'cancelled', reason: 'endpoint_deleted' }), ends('cancelled', 0)),
  ),
  integer({ min: 1, max: 1_000 }).map((nextAttemptAt) =>
    appends(`failed until ${nextAttemptAt}`, attempted({ nextAttemptAt }), (model) => {
      model.attempts += 1;
      Object.assign(model, { end: undefined, nextAttemptAt });
    }),
  ),
  constant(holds('held', (real) => real.hold(), true)),
  constant(holds('released', (real) => real.release(), false)),
  constant<Step>({
    check: () => true,
    async run(model, real) {
      // Two workers at the same moment: each attempt is recorded, in any order, and delivered stays delivered.
      await Promise.all([
        real.append(attempted({})(model.attempts + 1)),
        real.append(accepted(model.attempts + 1)),
      ]);
      model.attempts += 2;
      Object.assign(model, { end: 'delivered', nextAttemptAt: undefined });
      await check(model, real);
    },
    toString: () => 'failed here and accepted there at the same time',
  }),
];

function holds(name: string, act: (real: Real) => Promise<void>, isHeld: boolean): Step {
  return {
    check: () => true,
    async run(model, real) {
      await act(real);
      model.isHeld = isHeld;
      await check(model, real);
    },
    toString: () => name,
  };
}

it('shows the same, right state everywhere, whatever happens to a delivery in whichever order', async () => {
  expect.hasAssertions();
  await assert(
    asyncProperty(commands(steps, { maxCommands: 12 }), async (drawn) => {
      const model: Model = { end: undefined, isHeld: false, attempts: 0, nextAttemptAt: undefined };
      await asyncModelRun(async () => ({ model, real: await arrange() }), drawn);
    }),
    { numRuns: 60 },
  );
});

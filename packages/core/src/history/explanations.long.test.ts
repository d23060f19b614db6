import { PauseStore } from '../accounts/redis-pause-store';
import type { AccountId } from '../domain/account';
import type { Endpoint } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { type Pause, pauseOf } from '../domain/pause';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import type { MovedStore } from '../events/redis-moved';
import { systemClock } from '../platform/clock';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAct } from '../testing/build-act';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildMovedDelivery, buildMovedEvent } from '../testing/build-moved-event';
import { buildVerification } from '../testing/build-verification';
import { fake } from '../testing/fake';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { Deliveries, type Delivery } from './deliveries';
import { Explanations } from './explanations';
import { Recent } from './redis-recent';
import { WholeHistory } from './whole-history';

const CREATED_AT = 1_700_000_000_000;
const ALL = { showsSettings: true };

let redis: TestRedis;
let test: TestHistory;
beforeAll(async () => {
  [redis, test] = await Promise.all([openTestRedis(), openTestHistory()]);
});
afterAll(async () => {
  await redis.close();
  await test.close();
});

function open() {
  const stores = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
    deliveryHolds: new DeliveryHolds(redis.client, oneShard('bull')),
    admissionStore: new AdmissionStore(redis.client),
    besideLanes: new BesideLanes(redis.client),
    ...buildVerification(redis.client),
    pauseStore: new PauseStore(redis.client),
    clock: systemClock,
  };
  const movedStore = fake<MovedStore>({
    movedUntil: async () => CREATED_AT,
    countsOf: async () => ({}),
  });
  const recent = new Recent(stores, movedStore);
  const history = new WholeHistory(recent, { source: test.history, movedStore });
  const deliveries = new Deliveries({ ...stores, history });
  return { ...stores, history, deliveries };
}

const positions = JSON.stringify({ position: { lte: 10 } });

/** An event that PostgreSQL alone has, sent to the first of three endpoints, and to one that was deleted. */
async function arrangeMoved(isAimed = false) {
  const accountId = uniqueAccountId();
  const stores = open();
  const ids = Array.from({ length: 4 }, uniqueEndpointId).toSorted();
  const [got, gone, filtered, later] = ids as [
    Endpoint['id'],
    Endpoint['id'],
    Endpoint['id'],
    Endpoint['id'],
  ];
  const add = (change: Partial<Endpoint>) =>
    stores.endpointStore.create(buildEndpoint({ accountId, ...change }));
  await add({ id: got });
  await add({ id: filtered, filter: positions });
  await add({ id: later, createdAt: CREATED_AT + 1, updatedAt: CREATED_AT + 1 });
  const event = buildMovedEvent({
    accountId,
    createdAt: CREATED_AT,
    head: { type: 'keyword.quick_win', isAimed },
    dataText: '{"position":11}',
    deliveries: [buildMovedDelivery(got), buildMovedDelivery(gone)],
  });
  await test.write([event]);
  return { accountId, eventId: event.id, got, filtered, later, explanations: new Explanations(stores) };
}

async function reasonsOf(
  explanations: Explanations,
  accountId: AccountId,
  eventId: EventId,
  limit: number,
): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  let cursor: Endpoint['id'] | undefined;
  do {
    const page = await explanations.list(accountId, eventId, ALL, limit, cursor);
    found.push(
      ...page.explanations.map(({ endpointId, delivery, reason }) => [
        endpointId,
        reason ?? delivery?.status ?? '',
      ]),
    );
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

it.each([1, 2, 50])(
  'explains an event that has moved to PostgreSQL, %i webhooks at a time',
  async (limit) => {
    const { accountId, eventId, got, filtered, later, explanations } = await arrangeMoved();
    expect(await reasonsOf(explanations, accountId, eventId, limit)).toEqual([
      [later, 'registered_later'],
      [filtered, 'filtered'],
      [got, 'delivered'],
    ]);
  },
);

it('knows of one that has moved that it named its webhooks', async () => {
  const { accountId, eventId, got, filtered, later, explanations } = await arrangeMoved(true);
  expect(await reasonsOf(explanations, accountId, eventId, 50)).toEqual([
    [later, 'not_addressed'],
    [filtered, 'not_addressed'],
    [got, 'delivered'],
  ]);
});

it('says of a held delivery why it is held, and by whom its webhook is disabled', async () => {
  const { accountId, eventId, got } = await arrangeMoved();
  const stores = open();
  await stores.endpointStore.update(accountId, got, (endpoint) => ({
    ...endpoint,
    status: 'disabled',
    disabledReason: 'operator',
  }));
  const delivery = { endpointId: got, status: 'held', hold: { reason: 'disabled' } } as unknown as Delivery;
  const deliveries = fake<Deliveries>({
    list: async () => ({ deliveries: [delivery], nextCursor: undefined }),
  });
  const explanations = new Explanations({ ...stores, deliveries });
  const { explanations: found } = await explanations.list(accountId, eventId, { ...ALL, endpoint: got }, 1);
  expect(found).toMatchObject([
    {
      reason: 'disabled',
      detail:
        'Its delivery is held: its webhook is disabled ("disabled_reason": "operator"). It is sent once the webhook is enabled.',
    },
  ]);
});

describe('a delivery that is not delivered yet', () => {
  async function detailOf(change: Partial<Delivery>, pause?: Pause) {
    const { accountId, eventId, got } = await arrangeMoved();
    const delivery = { endpointId: got, attemptCount: 0, ...change } as Delivery;
    const deliveries = fake<Deliveries>({
      list: async () => ({ deliveries: [delivery], nextCursor: undefined }),
    });
    const pauseStore = fake<PauseStore>({ find: async () => pause });
    const explanations = new Explanations({ ...open(), deliveries, pauseStore });
    const page = await explanations.list(accountId, eventId, { ...ALL, endpoint: got }, 1);
    return page.explanations[0]?.detail;
  }
  const failed = { attemptCount: 2, lastOutcome: 'http_5xx', lastResponseStatus: 500 } as const;

  it('has its last outcome and its next attempt', async () => {
    expect(await detailOf({ ...failed, status: 'pending', nextAttemptAt: CREATED_AT })).toBe(
      'It has a delivery, which is pending. Attempt 2 had the outcome http_5xx (HTTP 500). ' +
        'The next attempt is due at 2023-11-14T22:13:20.000Z.',
    );
    expect(await detailOf({ ...failed, status: 'exhausted' })).toBe(
      'It has a delivery, which is exhausted. Attempt 2 had the outcome http_5xx (HTTP 500).',
    );
    expect(await detailOf({ attemptCount: 1, lastOutcome: 'dns_error', status: 'pending' })).toMatch(
      /Attempt 1 had the outcome dns_error\.$/,
    );
  });

  it('has, while it is held, until when', async () => {
    const hold = { reason: 'breaker_open', until: CREATED_AT } as const;
    expect(await detailOf({ ...failed, status: 'held', hold })).toMatch(
      /held: its webhook failed .*, until 2023-11-14T22:13:20.000Z at the latest\. Attempt 2 had the outcome http_5xx/,
    );
  });

  it('says that the queue is paused', async () => {
    const pause = pauseOf(buildAct(), undefined);
    expect(await detailOf({ status: 'pending' }, pause)).toMatch(/has paused the queue of deliveries/);
    expect(await detailOf({ status: 'delivered' }, pause)).not.toMatch(/paused/);
  });
});

it('claims nothing while the history, which knows the deliveries, is away', async () => {
  const { accountId, eventId } = await arrangeMoved();
  const deliveries = fake<Deliveries>({
    listOfEvent: async () => ({ deliveries: [], nextCursor: undefined, isCutShort: true }),
  });
  const explanations = new Explanations({ ...open(), deliveries });
  await expect(explanations.list(accountId, eventId, ALL, 50)).rejects.toMatchObject({
    code: 'history_unavailable',
  });
});

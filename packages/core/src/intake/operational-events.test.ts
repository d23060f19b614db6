import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createSubscriptions } from '../endpoints/subscriptions';
import { type AcceptedEvent, eventIdSchema } from '../model/event';
import { buildEndpoint } from '../testing/build-endpoint';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { webhookDisabledEvent } from './events-of-attempt';
import { operationalEventId } from './operational-event';
import { OperationalEvents } from './operational-events';

const HOUR_MS = 3_600_000;
const NOW = 472_236 * HOUR_MS + 60_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

interface Arrangement {
  /** What an endpoint of the account asks for. */
  readonly filter?: string;
}

async function arrange({ filter = 'webhook.*' }: Arrangement = {}) {
  const endpointStore = createRedisEndpointStore(redis.client, testSealer);
  const accountId = uniqueAccountId();
  await endpointStore.create(buildEndpoint({ accountId, events: [filter] }));
  const signals = recordSignals();
  const queued: AcceptedEvent[] = [];
  let now = NOW;
  let add = async (event: AcceptedEvent): Promise<void> => void queued.push(event);
  const operationalEvents = new OperationalEvents({
    subscriptions: createSubscriptions(endpointStore),
    eventQueue: { add: (event) => add(event) },
    clock: () => now,
    emit: signals.listen,
  });
  return {
    accountId,
    signals,
    queued,
    operationalEvents,
    raise(event = webhookDisabledEvent(buildEndpoint(), 'gone', now)) {
      operationalEvents.raise(accountId, [event]);
      return operationalEvents.stop();
    },
    moveClock(ms: number) {
      now += ms;
    },
    addBy(next: typeof add) {
      add = next;
    },
  };
}

describe('an operational event', () => {
  it('goes onto the events queue like any other, and is announced', async () => {
    const { raise, queued, accountId, signals } = await arrange();
    const event = webhookDisabledEvent(buildEndpoint(), 'gone', NOW);
    await raise(event);
    const { type, data } = event;
    const id = operationalEventId(accountId, event, NOW);
    expect(queued).toEqual([{ id, accountId, type, body: JSON.stringify({ type, data }), acceptedAt: NOW }]);
    expect(signals.named('operational_event.raised')).toEqual([
      { name: 'operational_event.raised', accountId, eventId: id, type },
    ]);
  });

  it.each(['*', 'delivery.*', 'webhook.failing', 'keyword.*'])(
    'is not raised when all that is asked for is %s',
    async (filter) => {
      const { raise, queued } = await arrange({ filter });
      await raise();
      expect(queued).toEqual([]);
    },
  );

  it('is raised once within an hour about one endpoint, and again in the next', async () => {
    const { raise, queued, moveClock } = await arrange();
    const event = webhookDisabledEvent(buildEndpoint(), 'gone', NOW);
    await raise(event);
    moveClock(HOUR_MS - 60_001);
    await raise(event);
    expect(queued).toHaveLength(1);
    moveClock(1);
    await raise(event);
    expect(queued).toHaveLength(2);
  });

  it('is raised about each endpoint', async () => {
    const { raise, queued } = await arrange();
    await raise();
    await raise();
    expect(queued).toHaveLength(2);
  });

  it('that did not reach the queue fails nobody, is a signal, and may be raised again', async () => {
    const { raise, queued, signals, addBy } = await arrange();
    const event = webhookDisabledEvent(buildEndpoint(), 'gone', NOW);
    addBy(() => Promise.reject(new Error('no luck')));
    await raise(event);
    expect(signals.named('task.failed')).toMatchObject([{ task: 'raise operational event' }]);
    addBy(async (added) => void queued.push(added));
    await raise(event);
    expect(queued).toHaveLength(1);
  });
});

describe('operationalEventId', () => {
  const accountId = uniqueAccountId();
  const { id: endpointId } = buildEndpoint();
  const about = { endpointId, type: 'webhook.disabled' } as const;
  const hour = Math.floor(NOW / HOUR_MS) * HOUR_MS;

  it('is an event id, the same on every worker for the whole of an hour', () => {
    const id = operationalEventId(accountId, about, hour);
    expect(eventIdSchema.safeParse(id).success).toBe(true);
    expect(operationalEventId(accountId, about, hour + HOUR_MS - 1)).toBe(id);
  });

  it.each<[string, ...Parameters<typeof operationalEventId>]>([
    ['account', uniqueAccountId(), about, hour],
    ['endpoint', accountId, { ...about, endpointId: buildEndpoint().id }, hour],
    ['type', accountId, { ...about, type: 'webhook.failing' }, hour],
    ['hour', accountId, about, hour + HOUR_MS],
  ])('differs by %s', (_what, ...parts) => {
    expect(operationalEventId(...parts)).not.toBe(operationalEventId(accountId, about, hour));
  });
});

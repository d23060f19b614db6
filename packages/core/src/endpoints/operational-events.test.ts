import { operationalTypes } from '../accounts/event-types/built-in';
import { type AcceptedEvent, eventIdSchema } from '../domain/event';
import { formatTime } from '../platform/clock';
import type { EventQueue } from '../queue/bullmq-event-queue';
import { buildAct } from '../testing/build-act';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import {
  type AttemptAftermath,
  auditRecordedEvent,
  eventsOfAttempt,
  notifiesOfFailing,
  OperationalEvents,
  operationalEventId,
  verificationEvents,
  webhookDisabledEvent,
} from './operational-events';
import { EndpointStore } from './redis-endpoint-store';
import { Subscriptions } from './subscriptions';

describe('operational events', () => {
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
    const endpointStore = new EndpointStore(redis.client, testSealer);
    const accountId = uniqueAccountId();
    await endpointStore.create(buildEndpoint({ accountId, events: [filter] }));
    const signals = recordSignals();
    const queued: AcceptedEvent[] = [];
    let now = NOW;
    let add = async (event: AcceptedEvent): Promise<void> => void queued.push(event);
    const operationalEvents = new OperationalEvents({
      subscriptions: new Subscriptions(endpointStore),
      eventQueue: fake<EventQueue>({ add: (event) => add(event) }),
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
      expect(queued).toEqual([
        { id, accountId, type, body: JSON.stringify({ type, data }), acceptedAt: NOW },
      ]);
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
      expect(signals.named('task.failed')).toMatchObject([{ task: 'publish an operational event' }]);
      addBy(async (added) => void queued.push(added));
      await raise(event);
      expect(queued).toHaveLength(1);
    });
  });

  it('waits for those under way when it stops, and says which never came through', async () => {
    const { operationalEvents, accountId, queued, signals, addBy } = await arrange();
    const reach: (() => void)[] = [];
    addBy((added) => new Promise<void>((done) => reach.push(() => done(void queued.push(added)))));
    operationalEvents.raise(accountId, [webhookDisabledEvent(buildEndpoint(), 'gone', NOW)]);
    while (reach.length === 0) await new Promise(setImmediate);
    const stopped = operationalEvents.stop();
    for (const each of reach) each();
    await stopped;
    expect(queued).toHaveLength(1);

    operationalEvents.raise(accountId, [webhookDisabledEvent(buildEndpoint(), 'gone', NOW)]);
    while (reach.length === 1) await new Promise(setImmediate);
    jest.useFakeTimers();
    const gaveUp = operationalEvents.stop();
    await jest.advanceTimersByTimeAsync(60_000);
    await gaveUp;
    jest.useRealTimers();
    expect(signals.named('task.failed')).toMatchObject([{ task: 'publish an operational event' }]);
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
});

describe('events of attempt', () => {
  const NOW = 1_700_000_000_000;

  function build(change: Partial<AttemptAftermath> = {}): AttemptAftermath {
    return {
      event: buildEvent(),
      endpoint: buildEndpoint(),
      attempt: buildAttempt(),
      isExhausted: false,
      disabledAs: undefined,
      recoveredFrom: undefined,
      ...change,
    };
  }

  const fourth = buildAttempt({ number: 4, outcome: 'http_5xx', responseStatus: 503 });

  describe('eventsOfAttempt', () => {
    it.each([
      ['a success', build({ attempt: buildAcceptedAttempt({ number: 4 }) })],
      ['a third failure', build({ attempt: buildAttempt({ number: 3 }) })],
      ['a fifth failure', build({ attempt: buildAttempt({ number: 5 }) })],
    ])('tells nothing of %s', (_what, aftermath) => {
      expect(eventsOfAttempt(aftermath)).toEqual([]);
    });

    it('reports the fourth failure of a delivery', () => {
      const { event, endpoint, ...rest } = build({ attempt: fourth });
      expect(eventsOfAttempt({ event, endpoint, ...rest })).toEqual([
        {
          type: 'webhook.failing',
          endpointId: endpoint.id,
          data: {
            webhook_id: endpoint.id,
            url: endpoint.url,
            event_id: event.id,
            delivery_id: `${event.id}.${endpoint.id}`,
            event_type: event.type,
            attempt_count: 4,
            last_outcome: 'http_5xx',
            last_response_status: 503,
          },
        },
      ]);
    });

    it('reports an exhausted delivery', () => {
      const { event, endpoint, ...rest } = build({
        attempt: buildAttempt({ number: 10 }),
        isExhausted: true,
      });
      expect(eventsOfAttempt({ event, endpoint, ...rest })).toEqual([
        {
          type: 'delivery.exhausted',
          endpointId: endpoint.id,
          data: {
            delivery_id: `${event.id}.${endpoint.id}`,
            event_id: event.id,
            webhook_id: endpoint.id,
            event_type: event.type,
            attempt_count: 10,
          },
        },
      ]);
    });

    it('reports a disabled endpoint', () => {
      const attempt = buildAttempt({ startedAt: NOW, durationMs: 40 });
      const { endpoint, ...rest } = build({ attempt, disabledAs: 'gone' });
      expect(eventsOfAttempt({ endpoint, ...rest })).toEqual([
        {
          type: 'webhook.disabled',
          endpointId: endpoint.id,
          data: {
            webhook_id: endpoint.id,
            url: endpoint.url,
            reason: 'gone',
            disabled_at: formatTime(NOW + 40),
          },
        },
      ]);
    });

    it('reports an endpoint that is well again', () => {
      const attempt = buildAcceptedAttempt({ startedAt: NOW, durationMs: 40 });
      const { endpoint, ...rest } = build({ attempt, recoveredFrom: NOW - 60_000 });
      expect(eventsOfAttempt({ endpoint, ...rest })).toEqual([
        {
          type: 'webhook.recovered',
          endpointId: endpoint.id,
          data: {
            webhook_id: endpoint.id,
            url: endpoint.url,
            first_failed_at: formatTime(NOW - 60_000),
            recovered_at: formatTime(NOW + 40),
          },
        },
      ]);
    });

    it('tells all that there is to tell', () => {
      const aftermath = build({ attempt: fourth, isExhausted: true, disabledAs: 'failing' });
      expect(eventsOfAttempt(aftermath).map(({ type }) => type)).toEqual([
        'webhook.failing',
        'delivery.exhausted',
        'webhook.disabled',
      ]);
    });

    it('tells what its catalogue entry says', () => {
      const tried = { method: 'challenge', round: 1, tries: 3 } as const;
      const told = [
        ...eventsOfAttempt(build({ attempt: fourth, isExhausted: true, disabledAs: 'failing' })),
        ...eventsOfAttempt(build({ attempt: buildAcceptedAttempt(), recoveredFrom: NOW })),
        auditRecordedEvent({ ...buildAct(), targetId: 'wh_1' }),
        ...verificationEvents(buildEndpoint({ verification: { ...tried, status: 'verified' } })),
        ...verificationEvents(
          buildEndpoint({ verification: { ...tried, status: 'failed', error: 'response_timeout' } }),
        ),
        ...verificationEvents(
          buildEndpoint({ verification: { ...tried, status: 'pending', error: 'response_timeout' } }),
        ),
      ];
      expect(told.map(({ type }) => type).toSorted()).toEqual(
        operationalTypes.map(({ name }) => name).toSorted(),
      );
      for (const { type, data } of told) {
        expect(operationalTypes.find(({ name }) => name === type)?.data.parse(data)).toEqual(data);
      }
    });
  });

  describe.each(operationalTypes.map(({ name }) => name))('the delivery of a %s', (type) => {
    it('is never told of itself, whatever becomes of it', () => {
      const event = buildEvent({ type });
      const aftermath = build({
        event,
        attempt: fourth,
        isExhausted: true,
        disabledAs: 'gone',
        recoveredFrom: NOW,
      });
      expect(eventsOfAttempt(aftermath)).toEqual([]);
      expect(notifiesOfFailing(type, fourth)).toBe(false);
    });
  });
});

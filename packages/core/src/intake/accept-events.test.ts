import { keywordQuickWin } from '../catalogue/built-in/keyword-quick-win';
import { createLookUpEndpoints } from '../endpoints/resolve-endpoints';
import { AppError } from '../kernel/app-error';
import { createNewId } from '../kernel/ids';
import { type EndpointRef, isEndpointId } from '../model/endpoint';
import type { AcceptedEvent } from '../model/event';
import { createRedisEventStore } from '../record/redis-event-store';
import { buildValidateEvent } from '../testing/build-validate-event';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type Acceptance, createAcceptEvents, type PublishedEvent } from './accept-events';
import { createRedisEventClaimStore } from './redis-event-claim-store';

const NOW = 1_700_000_000_000;
const RETENTION_MS = 60_000;
const { name: type, example: data } = keywordQuickWin;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function build(add: () => Promise<void> = async () => {}) {
  const added: AcceptedEvent[] = [];
  const lookedUp: (readonly EndpointRef[])[] = [];
  const signals = recordSignals();
  const accountId = uniqueAccountId();
  const dispatchEvents = async (events: readonly AcceptedEvent[]) => {
    await add();
    added.push(...events);
  };
  const eventStore = createRedisEventStore(redis.client, testRetention);
  const acceptEvents = createAcceptEvents({
    dispatchEvents,
    eventStore,
    eventClaims: createRedisEventClaimStore(redis.client, RETENTION_MS),
    // The account's endpoints are none of this test's business, but for one that it does not have.
    lookUpEndpoints: createLookUpEndpoints({
      async findIds(_accountId, refs) {
        lookedUp.push(refs);
        return refs.map((ref) => (isEndpointId(ref) && ref !== MISSING_ENDPOINT ? ref : undefined));
      },
    }),
    validateEvent: buildValidateEvent({ maxBytes: 1_024 }),
    emit: signals.listen,
  });
  const accept = (...events: (PublishedEvent | AppError)[]) =>
    acceptEvents({ accountId, requestId: 'req_1', receivedAt: NOW, newId: createNewId(() => NOW), events });
  return { accept, accountId, added, lookedUp, signals, eventStore };
}

const MISSING_ENDPOINT = uniqueEndpointId();

/** An event as it should be, unless the change says otherwise. */
function published(change: Partial<PublishedEvent> = {}): PublishedEvent {
  return { type, data, dataText: JSON.stringify(data), ...change };
}

const isNewOf = (outcomes: readonly (Acceptance | AppError)[]) =>
  outcomes.map((outcome) => (outcome instanceof AppError ? outcome.code : outcome.isNew));

describe('acceptEvents', () => {
  it('queues an event with its body sealed, and gives the same event', async () => {
    const { accept, accountId, added } = build();
    const [outcome] = await accept(published({ dataText: ' {"as it":"came"} ' }));
    expect(outcome).toEqual({
      isNew: true,
      event: {
        id: expect.stringMatching(/^evt_[0-9a-z]{22}$/),
        accountId,
        type,
        body: `{"type":"${type}","data": {"as it":"came"} }`,
        acceptedAt: NOW,
      },
    });
    expect(added).toEqual([(outcome as Acceptance).event]);
  });

  it('announces it, without its payload', async () => {
    const { accept, accountId, added, signals } = build();
    await accept(published());
    expect(signals.named('event.accepted')).toEqual([
      {
        name: 'event.accepted',
        source: 'http',
        accountId,
        eventId: added[0]?.id,
        type,
        bytes: added[0]?.body.length,
        requestId: 'req_1',
      },
    ]);
  });

  it('refuses what is not valid, and queues and announces what is', async () => {
    const { accept, added, signals } = build();
    const unreadable = new AppError('invalid_request', 'unreadable');
    const tooLarge = `"${'x'.repeat(1_024)}"`;
    const outcomes = await accept(
      published({ data: {}, dataText: '{}' }),
      published(),
      unreadable,
      published({ dataText: tooLarge }),
      published({ endpointRefs: [uniqueEndpointId(), MISSING_ENDPOINT] }),
    );
    expect(isNewOf(outcomes)).toEqual([
      'invalid_request',
      true,
      'invalid_request',
      'payload_too_large',
      'invalid_request',
    ]);
    expect(outcomes[2]).toBe(unreadable);
    expect(outcomes[4]).toMatchObject({
      faults: [{ pointer: '/webhook_ids/1', detail: `there is no webhook ${MISSING_ENDPOINT}` }],
    });
    expect(added).toHaveLength(1);
    expect(signals.named('event.accepted')).toHaveLength(1);
  });

  it('looks up all that its events are aimed at together, however many name the same', async () => {
    const { accept, added, lookedUp } = build();
    const [one, other] = [uniqueEndpointId(), uniqueEndpointId()];
    const aimed = (...endpointRefs: EndpointRef[]) => published({ endpointRefs });
    await accept(...Array.from({ length: 60 }, () => aimed(one)), published(), aimed(other, one, other));
    expect(lookedUp).toEqual([[one, other]]);
    expect(added.at(0)).toMatchObject({ endpointIds: [one] });
    expect(added.at(-1)).toMatchObject({ endpointIds: [other, one] });
    await accept(published());
    expect(lookedUp).toHaveLength(1);
  });

  it('queues nothing when there is nothing good', async () => {
    const { accept, added } = build(() => Promise.reject(new Error('must not be called')));
    expect(isNewOf(await accept(published({ type: 'keyword.lost' })))).toEqual(['invalid_request']);
    expect(added).toEqual([]);
  });

  it('announces nothing that the queue did not take', async () => {
    const unavailable = new AppError('storage_unavailable', 'not reachable');
    const { accept, signals } = build(() => Promise.reject(unavailable));
    await expect(accept(published(), published())).rejects.toBe(unavailable);
    expect(signals.named('event.accepted')).toEqual([]);
  });
});

describe('an event under an id that the client chose', () => {
  it('is queued and announced once, however often it is published', async () => {
    const { accept, added, signals } = build();
    const event = published({ id: uniqueEventId() });
    expect(isNewOf(await accept(event))).toEqual([true]);
    expect(isNewOf(await accept(event))).toEqual([false]);
    expect(added.map(({ id }) => id)).toEqual([event.id]);
    expect(signals.named('event.accepted')).toHaveLength(1);
  });

  it('is accepted by one of many who publish it at the same time', async () => {
    const { accept, added, signals } = build();
    const event = published({ id: uniqueEventId() });
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => accept(event)));
    expect(outcomes.flatMap(isNewOf).filter((isNew) => isNew === true)).toHaveLength(1);
    // Some may be queued again, which their job's id makes harmless.
    expect(new Set(added.map(({ id, body }) => id + body)).size).toBe(1);
    expect(signals.named('event.accepted')).toHaveLength(1);
  });

  it.each<[string, Partial<PublishedEvent>]>([
    ['other data', { dataText: JSON.stringify({ ...data, position: 99 }) }],
    ['the same data in another spelling', { dataText: ` ${JSON.stringify(data)}` }],
    ['other webhooks', { endpointRefs: [uniqueEndpointId()] }],
  ])('is refused with %s', async (_what, change) => {
    const { accept, added } = build();
    const event = published({ id: uniqueEventId() });
    await accept(event);
    expect(isNewOf(await accept({ ...event, ...change }))).toEqual(['event_id_conflict']);
    expect(added).toHaveLength(1);
  });

  it('is queued by the retry of a request that broke off after the claim, as it was accepted first', async () => {
    let isDown = true;
    const { accept, added } = build(async () => {
      if (isDown) throw new AppError('storage_unavailable', 'not reachable');
    });
    const event = published({ id: uniqueEventId() });
    await expect(accept(event)).rejects.toMatchObject({ code: 'storage_unavailable' });
    isDown = false;
    expect(isNewOf(await accept(event))).toEqual([true]);
    expect(added).toMatchObject([{ id: event.id, acceptedAt: NOW }]);
  });

  it('is new once among several in one batch, and refused where it has other content', async () => {
    const { accept } = build();
    const event = published({ id: uniqueEventId() });
    const other = published({ ...event, dataText: '{"other":true}' });
    expect(isNewOf(await accept(event, event, other))).toEqual([true, false, 'event_id_conflict']);
  });

  it('is known when it came in by the queue before, and refused when that has other content', async () => {
    const { accept, accountId, added, eventStore } = build();
    const id = uniqueEventId();
    const event = published({ id });
    const body = `{"type":"${type}","data":${event.dataText}}`;
    await eventStore.save({ id, accountId, type, body, acceptedAt: 1 });
    expect(await accept(event)).toMatchObject([{ isNew: false, event: { id, acceptedAt: 1 } }]);
    expect(isNewOf(await accept({ ...event, dataText: '{"other":true}' }))).toEqual(['event_id_conflict']);
    expect(added).toEqual([]);
  });
});

import { setImmediate } from 'node:timers/promises';
import { keywordQuickWin } from '../accounts/event-types/built-in';
import type { AccountId } from '../domain/account';
import { type EndpointRef, isEndpointId } from '../domain/endpoint';
import type { AcceptedEvent, EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { Subscriptions } from '../endpoints/subscriptions';
import { digestOf, type MovedId, MovedIds } from '../events/redis-moved-ids';
import { AppError } from '../platform/app-error';
import { createNewId } from '../platform/ids';
import { atomicOneByOne } from '../platform/redis-atomic';
import { nameRedisError } from '../platform/redis-errors';
import { ScriptUnit, type Step } from '../platform/redis-script';
import { buildAtomic, buildGuard } from '../testing/build-atomic';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { keepMovedId } from '../testing/keep-moved-id';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { withMethods } from '../testing/with-methods';
import { dispatchEvents, routeEvents } from './fan-out-event';
import { type Acceptance, type PublishedEvent, Publishing } from './publishing';
import type { PublishingParts } from './publishing-parts';
import { IdempotencyStore } from './redis-idempotency-store';
import { ScheduledEvents } from './scheduled-events';

async function dispatch(parts: PublishingParts, events: readonly AcceptedEvent[]): Promise<void> {
  await dispatchEvents(parts, await routeEvents(parts, events));
}

function open(parts: PublishingParts): Publishing {
  return new Publishing(parts, new ScheduledEvents(parts));
}

describe('accept events', () => {
  const NOW = 1_700_000_000_000;
  const { name: type, example: data } = keywordQuickWin;

  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterAll(() => redis.close());

  function build(add: () => Promise<void> = async () => {}) {
    const added: AcceptedEvent[] = [];
    const lookedUp: (readonly EndpointRef[])[] = [];
    const accountId = uniqueAccountId();
    const opened = openPublishingParts(redis.client);
    const { signals, eventStore } = opened;
    const publishing = open({
      ...opened,
      atomic: atomicOneByOne(redis.client),
      subscriptions: new Subscriptions(
        fake<EndpointStore>({ version: async () => '1', listSubscribers: async () => [] }),
      ),
      // The account's endpoints do not matter to this test, except for one that it does not have.
      endpointStore: fake<EndpointStore>({
        async findIds(_accountId: AccountId, refs: readonly EndpointRef[]) {
          lookedUp.push(refs);
          return refs.map((ref) => (isEndpointId(ref) && ref !== MISSING_ENDPOINT ? ref : undefined));
        },
      }),
      eventStore: withMethods(eventStore, {
        save: (event: AcceptedEvent) =>
          buildGuard(async () => {
            await add();
            added.push(event);
            return true;
          }),
      }),
    });
    const acceptAt = (receivedAt: number, ...events: (PublishedEvent | AppError)[]) =>
      publishing.accept(
        { apiKey: { accountId }, requestId: 'req_1', receivedAt, newId: createNewId(() => NOW) },
        events,
      );
    const accept = (...events: (PublishedEvent | AppError)[]) => acceptAt(NOW, ...events);
    return { accept, acceptAt, accountId, added, lookedUp, signals, eventStore };
  }

  const MISSING_ENDPOINT = uniqueEndpointId();

  /** An event as it should be, unless the change says otherwise. */
  function published(change: Partial<PublishedEvent> = {}): PublishedEvent {
    return { type, data, dataText: JSON.stringify(data), ...change };
  }

  const isNewOf = (outcomes: readonly (Acceptance | AppError)[]) =>
    outcomes.map((outcome) => (outcome instanceof AppError ? outcome.code : outcome.isNew));

  describe('accept', () => {
    it('queues an event with its body sealed, and gives the same event', async () => {
      const { accept, accountId, added } = build();
      const [outcome] = await accept(published({ dataText: ' {"as it":"came"} ' }));
      expect(outcome).toEqual({
        isNew: true,
        event: {
          id: expect.stringMatching(/^evt_[0-9a-z]{22}$/),
          requestId: 'req_1',
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
        validationErrors: [{ pointer: '/webhook_ids/1', detail: `there is no webhook ${MISSING_ENDPOINT}` }],
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

    it('is known under its id when it is published again long after it was due', async () => {
      const { accept, acceptAt, signals } = build();
      const event = published({ id: uniqueEventId(), deliverAt: NOW + 1_000 });
      const [first] = await accept(event);
      const hourLater = NOW + 3_600_000;
      expect(await acceptAt(hourLater, event)).toEqual([
        { event: (first as Acceptance).event, isNew: false },
      ]);
      const other = { ...event, dataText: JSON.stringify({ ...data, position: 99 }) };
      expect(isNewOf(await acceptAt(hourLater, other))).toEqual(['event_id_conflict']);
      const unknown = { ...event, id: uniqueEventId() };
      expect(isNewOf(await acceptAt(hourLater, unknown))).toEqual(['deliver_at_in_past']);
      expect(signals.named('event.accepted')).toHaveLength(1);
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
      await eventStore.save({ id, accountId, type, body, acceptedAt: 1 })(redis.client);
      expect(await accept(event)).toMatchObject([{ isNew: false, event: { id, acceptedAt: 1 } }]);
      expect(isNewOf(await accept({ ...event, dataText: '{"other":true}' }))).toEqual(['event_id_conflict']);
      expect(added).toEqual([]);
    });
  });
});

describe('accept events, with a history', () => {
  const NOW = 1_700_000_000_000;
  const RETENTION_MS = 60_000;
  const { name: type, example: data } = keywordQuickWin;
  const dataText = JSON.stringify(data);
  const body = `{"type":"${type}","data":${dataText}}`;

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const parts = openPublishingParts(client);
    const movedIds = new MovedIds(client, RETENTION_MS);
    const accountId = uniqueAccountId();
    const { id: endpointId } = buildEndpoint({ accountId });
    await parts.endpointStore.create(buildEndpoint({ accountId, id: endpointId }));
    const event = { id: uniqueEventId(), type, data, dataText } as const;
    return {
      ...parts,
      client,
      accountId,
      endpointId,
      movedIds,
      event,
      keep: ({ acceptedAt = NOW - 500, ...change }: Partial<MovedId> = {}) =>
        keepMovedId(
          client,
          movedIds,
          {
            accountId,
            eventId: event.id,
            acceptedAt,
            movedId: { kind: 'claimed', digest: digestOf(body), ...change },
          },
          NOW,
        ),
      async accept(
        change: Omit<Partial<PublishedEvent>, 'id'> & { readonly id?: EventId | undefined } = {},
        atomic = parts.atomic,
        requireClaim?: Step,
      ) {
        const request = {
          apiKey: { accountId },
          requestId: 'req_1',
          receivedAt: NOW,
          newId: createNewId(() => NOW),
          requireClaim,
        };
        const events = [{ ...event, ...change } as PublishedEvent];
        const [outcome] = await open({ ...parts, movedIds, atomic }).accept(request, events);
        if (outcome instanceof AppError) return outcome.code;
        return outcome && { isNew: outcome.isNew, acceptedAt: outcome.event.acceptedAt };
      },
      jobs: () => client.zcard('bull:deliveries:prioritized'),
    };
  }

  it('knows the id of an event that has moved, as it was accepted first', async () => {
    const { accept, keep, jobs, client, accountId, event } = await arrange();
    await keep();
    expect(await accept()).toEqual({ isNew: false, acceptedAt: NOW - 500 });
    expect(await accept()).toEqual({ isNew: false, acceptedAt: NOW - 500 });
    expect(await jobs()).toBe(0);
    // Also when it was to be sent long ago.
    expect(await accept({ deliverAt: NOW - 3_600_000 })).toEqual({ isNew: false, acceptedAt: NOW - 500 });
    // Nothing of it comes back to stay.
    expect(await client.exists(keys.eventClaim(accountId, event.id))).toBe(0);
  });

  it.each<[string, Partial<MovedId>, (endpointId: EndpointRef) => Partial<PublishedEvent>]>([
    ['other data', {}, () => ({ dataText: `${dataText} ` })],
    ['other webhooks', {}, (endpointId) => ({ endpointRefs: [endpointId] })],
    ['other data than one that came by the queue', { kind: 'queued' }, () => ({ dataText: `${dataText} ` })],
    ['a payload that was erased', { digest: undefined }, () => ({})],
  ])('refuses the id of one that has moved with %s', async (_what, moved, change) => {
    const { accept, keep, jobs, endpointId } = await arrange();
    await keep(moved);
    expect(await accept(change(endpointId))).toBe('event_id_conflict');
    expect(await jobs()).toBe(0);
  });

  it.each([
    ['is sent at once', {}],
    ['is to be sent later', { deliverAt: NOW + 60_000 }],
  ])(
    'stores nothing for a request that another one has taken over: an event that %s',
    async (_what, change) => {
      const { client, accountId, accept } = await arrange();
      const store = new IdempotencyStore(client);
      const requestKey = { accountId, name: 'one' };
      const claim = async (seed: string) => {
        expect(await store.claim(requestKey, 'request', seed, NOW)(client)).toMatchObject({
          state: 'claimed',
        });
        return store.requireHolder(requestKey, seed);
      };
      const stalled = await claim('first');
      await store.release(requestKey, 'first');
      const retry = await claim('second');
      const fresh = { ...change, id: undefined };
      const refused: unknown = await accept(fresh, undefined, stalled).catch((error: unknown) => error);
      expect(nameRedisError(refused)).toMatchObject({ code: 'storage_unavailable' });
      expect(await client.keys(`event:{${accountId}/*`)).toEqual([]);
      expect(await accept(fresh, undefined, retry)).toMatchObject({ isNew: true });
      expect(await client.keys(`event:{${accountId}/*`)).toHaveLength(1);
    },
  );

  // A failure that nobody waits for ends the process: the API ended with each outage of Redis.
  it('fails when Redis is away, and leaves no failure that nobody has waited for', async () => {
    const { accept } = await arrange();
    const away = buildAtomic(async (steps) => {
      const unit = new ScriptUnit();
      const begun = steps.map((step) => step(unit));
      unit.fail(new Error('Redis is away.'));
      return await Promise.all(begun);
    });
    await expect(accept({}, away)).rejects.toThrow('Redis is away.');
    await setImmediate();
  });

  it('knows one that came by the queue by its data alone', async () => {
    const { accept, keep, endpointId } = await arrange();
    await keep({ kind: 'queued' });
    expect(await accept({ endpointRefs: [endpointId] })).toMatchObject({ isNew: false });
  });

  it('takes the id once more when the retention is over', async () => {
    const { accept, keep, jobs } = await arrange();
    await keep({ acceptedAt: NOW - RETENTION_MS - 1 });
    expect(await accept()).toEqual({ isNew: true, acceptedAt: NOW });
    expect(await jobs()).toBe(1);
  });

  // Its deliveries may have ended and be gone by then.
  it('makes no delivery again for a request that broke off before its event was marked', async () => {
    const { accept, client, accountId, event, jobs } = await arrange();
    await accept();
    await client.hdel(keys.eventClaim(accountId, event.id), 'queued');
    await client.del(`bull:deliveries:prioritized`);
    expect(await accept()).toEqual({ isNew: false, acceptedAt: NOW });
    expect(await jobs()).toBe(0);
  });

  // A request that stands still for long: its client has given it up and has sent it again, to another process.
  it.each<[string, number | undefined]>([
    ['makes no delivery of an event that was sent', undefined],
    ['does not schedule an event again that was cancelled', NOW + 1_000],
  ])('%s, and has moved, after its id was claimed', async (_what, deliverAt) => {
    const { accept, keep, client, accountId, event, jobs, atomic, scheduledQueue } = await arrange();
    let steps = 0;
    const slow = buildAtomic(async (...args) => {
      steps += 1;
      if (steps === 2) {
        await keep();
        await client.del(keys.eventClaim(accountId, event.id));
      }
      return await atomic(...args);
    });
    const change = deliverAt === undefined ? {} : { deliverAt };
    expect(await accept(change, slow)).toEqual({ isNew: false, acceptedAt: deliverAt ?? NOW });
    expect(await jobs()).toBe(0);
    expect(await scheduledQueue.list(accountId, 10)).toEqual([]);
    expect(await client.exists(keys.event(accountId, event.id))).toBe(0);
  });

  it('makes no delivery of one that a worker fans out too late, and all of the others of its turn', async () => {
    const { movedIds, keep, accountId, event, jobs, ...parts } = await arrange();
    await keep({ kind: 'queued' });
    const common = { accountId, type, body, acceptedAt: NOW, isQueued: true } as const;
    const other = uniqueEventId();
    await dispatch(
      { ...parts, movedIds },
      [event.id, other].map((id) => ({ ...common, id })),
    );
    expect(await jobs()).toBe(1);
    expect(parts.signals.named('event.fanned_out')).toMatchObject([{ eventId: other, deliveries: 1 }]);
  });

  it('makes no delivery of a scheduled one whose id nobody chose, once it was sent and is gone', async () => {
    const { movedIds, accountId, event, jobs, client, ...parts } = await arrange();
    const common = { accountId, type, body, acceptedAt: NOW, isQueued: true } as const;
    await dispatch({ ...parts, movedIds }, [{ ...common, id: event.id, isStored: true }]);
    expect(await jobs()).toBe(0);
    expect(await client.exists(keys.event(accountId, event.id))).toBe(0);
  });

  it('makes the deliveries of a request that broke off before them', async () => {
    const { accept, jobs, atomic } = await arrange();
    let steps = 0;
    const broken = buildAtomic(async (...args) => {
      steps += 1;
      if (steps > 1) throw new AppError('storage_unavailable', 'not reachable');
      return await atomic(...args);
    });
    await expect(accept({}, broken)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(await accept()).toEqual({ isNew: true, acceptedAt: NOW });
    expect(await jobs()).toBe(1);
  });
});

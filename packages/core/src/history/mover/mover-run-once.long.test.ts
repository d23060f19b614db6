import { deliveryIdOf } from '../../domain/delivery';
import { readSummary } from '../../domain/delivery-log';
import { type AcceptedEvent, bodyOf, dataOf } from '../../domain/event';
import { keys } from '../../domain/keys';
import { LAPSES_AFTER_MS } from '../../domain/moved-event';
import { EVENT_BYTES } from '../../domain/usage';
import { EventStore } from '../../events/redis-event-store';
import { MovedStore } from '../../events/redis-moved';
import { digestOf, isOfDigest } from '../../events/redis-moved-ids';
import { type Begun, ScheduledEventStore } from '../../events/redis-scheduled-event-store';
import { fanOutEvents } from '../../publish/fan-out-event';
import { buildEvent, buildScheduledEvent } from '../../testing/build-event';
import {
  DELIVERED,
  EXHAUSTED,
  FAILED,
  KEEP_DAYS,
  MOVE_AFTER_MS,
  MovingScene,
} from '../../testing/moving-scene';
import { openPublishingParts } from '../../testing/open-publishing-parts';
import { testRetention } from '../../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { withMethods } from '../../testing/with-methods';
import { BATCH } from './mover';

const DAY = 86_400_000;

let scene: MovingScene;
beforeEach(async () => {
  scene = await MovingScene.open();
});
afterEach(() => scene.close());

// Of a hundred characters, and of 256 bytes that are stored as 768.
const LONG_HEAD = {
  type: `a.${'b'.repeat(98)}`,
  group: 'ü'.repeat(128),
  body: `{"type":"a.${'b'.repeat(98)}","data":{}}`,
  trace: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true },
  requestId: 'r'.repeat(64),
};

function eventOf(begun: Begun): AcceptedEvent {
  if (begun.state !== 'due' || begun.event.body === undefined) throw new Error(`It is ${begun.state}.`);
  return begun.event;
}

function only<Item>([item]: readonly Item[]): Item {
  if (item === undefined) throw new Error('There is none.');
  return item;
}

describe('what has ended', () => {
  it('moves with its event, and nothing of it stays in Redis', async () => {
    const { event, endpointIds } = await scene.arrange([[FAILED, DELIVERED]]);
    const parts = { eventId: event.id, endpointId: only(endpointIds) };
    const log = await scene.logInRedis(parts);
    expect(await scene.moveAfter()).toEqual({ moved: 1, isFull: false });
    const moved = scene.history.find(event.accountId, event.id);
    expect(moved).toMatchObject({
      createdAt: event.acceptedAt,
      head: { type: event.type, isAimed: false },
      keepDays: KEEP_DAYS,
    });
    expect(bodyOf(event.type, moved?.dataText ?? '')).toBe(event.body);
    expect(JSON.parse(moved?.dataText ?? '')).toEqual(dataOf(event.body));
    expect(scene.history.logOf(event.accountId, parts)).toBe(log);
    expect(await scene.keysLeft()).toEqual([]);
    expect(await scene.movedStore.movedUntil(event.accountId)).toBe(event.acceptedAt);
    expect(scene.signals.named('history.moved')).toMatchObject([{ count: 1 }]);
  });

  it('stays until its time has come', async () => {
    await scene.arrange();
    expect(await scene.moveAfter(MOVE_AFTER_MS - 1)).toEqual({ moved: 0, isFull: false });
    expect(scene.history.writes).toBe(0);
    expect(await scene.moveAfter(1)).toMatchObject({ moved: 1 });
  });

  it('moves without its event, while another delivery of that has not ended', async () => {
    const { event, endpointIds } = await scene.arrange([[DELIVERED], [FAILED], [EXHAUSTED], []]);
    const [, failed, , untried] = endpointIds;
    expect(await scene.moveAfter()).toMatchObject({ moved: 2 });
    const { accountId, id: eventId } = event;
    const { members } = await scene.eventStore.listReceivers(accountId, eventId, 10);
    expect(members.toSorted()).toEqual([failed, untried].toSorted());
    expect(await scene.movedStore.countsOf(accountId, eventId)).toEqual({ delivered: 1, exhausted: 1 });
    expect((await scene.eventStore.list(accountId, 10)).marks).toHaveLength(1);
    expect(await scene.eventStore.find(accountId, eventId)).toMatchObject({ body: event.body });
    expect(scene.history.find(accountId, eventId)).toBeDefined();

    for (const endpointId of [failed, untried]) {
      if (endpointId === undefined) throw new Error('arranged otherwise');
      await scene.deliveryStore.append({ eventId, endpointId }, DELIVERED);
      await scene.endedList.add({ accountId, eventId, endpointId }, scene.now);
    }
    expect(await scene.moveAfter()).toMatchObject({ moved: 2 });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves as an event that went to nobody', async () => {
    const { event } = await scene.arrange([]);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(scene.history.find(event.accountId, event.id)).toBeDefined();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves as an event whose payload was erased, and its id stays taken', async () => {
    const { event } = await scene.arrange();
    await scene.eventStore.erasePayload(event.accountId, event.id, scene.now);
    await scene.moveAfter();
    expect(scene.history.find(event.accountId, event.id)).toMatchObject({
      head: { erasedAt: scene.now - MOVE_AFTER_MS },
      dataText: undefined,
    });
    const { moved } = await scene.movedIds.look(event.accountId, event.id, scene.now)(scene.redis.client);
    expect(moved).toMatchObject({ digest: undefined });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves with a head as long as one can be, and as one whose payload was erased', async () => {
    const schedule = { state: 'due', publishedAt: scene.now - DAY, deliverAt: scene.now } as const;
    const { event } = await scene.arrange([[DELIVERED]], { ...LONG_HEAD, isQueued: true, schedule });
    await scene.eventStore.erasePayload(event.accountId, event.id, scene.now);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(scene.history.find(event.accountId, event.id)).toMatchObject({
      head: {
        group: LONG_HEAD.group,
        requestId: LONG_HEAD.requestId,
        schedule,
        erasedAt: scene.now - MOVE_AFTER_MS,
      },
      dataText: undefined,
    });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves with what tells where an event goes that was to be sent later', async () => {
    const scheduled = new ScheduledEventStore(scene.redis.client, testRetention);
    const waiting = buildScheduledEvent({ deliverAt: scene.now, endpointIds: [uniqueEndpointId()] });
    const { accountId, id } = waiting;
    await scheduled.save(waiting, 'response')(scene.redis.client);
    await scene.eventStore.enlistAll([
      { event: eventOf(await scheduled.begin(accountId, id, scene.now)), deliveries: 0 },
    ])(scene.redis.client);
    await scene.endedList.add({ accountId, eventId: id }, scene.now);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(scene.history.find(accountId, id)?.head).toMatchObject({
      isAimed: true,
      schedule: { state: 'due' },
    });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves each once, however many processes move', async () => {
    await Promise.all(Array.from({ length: 30 }, () => scene.arrange([[DELIVERED], [EXHAUSTED]])));
    scene.now += MOVE_AFTER_MS;
    const results = await Promise.all(Array.from({ length: 5 }, () => scene.moveAfter(0)));
    expect(results.reduce((sum, { moved }) => sum + moved, 0)).toBe(60);
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('is not counted for its account any more', async () => {
    const { event } = await scene.arrange([[DELIVERED], [EXHAUSTED]]);
    const size = await scene.redis.client.strlen(keys.event(event.accountId, event.id));
    await scene.moveAfter();
    const bytesOf = (kind: string) =>
      scene.usage.filter((note) => note.kind === kind).map(({ bytes }) => bytes);
    expect(bytesOf('events')).toEqual([-(size + EVENT_BYTES)]);
    expect(bytesOf('deliveries')).toEqual([-500, expect.any(Number)]);
    expect(new Set(scene.usage.map(({ accountId }) => accountId))).toEqual(new Set([event.accountId]));
  });

  it('is removed, and not in the history, when its day is older than that keeps anything', async () => {
    const { event } = await scene.arrange([[DELIVERED]], { acceptedAt: scene.now - (KEEP_DAYS + 1) * DAY });
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(scene.history.find(event.accountId, event.id)).toBeUndefined();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('is kept for as long as its account says: a batch has several times', async () => {
    const arranged = await Promise.all([30, 400, undefined].map(() => scene.arrange()));
    const [short, long, usual] = arranged.map(({ event }) => event.accountId);
    if (!short || !long || !usual) throw new Error('There are three.');
    scene.historyDays.set(short, 30).set(long, 400);
    expect(await scene.moveAfter()).toMatchObject({ moved: 3 });
    expect(scene.history.writes).toBe(1);
    const days = arranged.map(({ event: { accountId, id } }) => scene.history.find(accountId, id)?.keepDays);
    expect(days).toEqual([30, 400, KEEP_DAYS]);
  });

  it('is over for the history by the time of its account', async () => {
    const aged = { acceptedAt: scene.now - 40 * DAY };
    const [short, usual] = [
      await scene.arrange([[DELIVERED]], { ...aged, accountId: uniqueAccountId() }),
      await scene.arrange([[DELIVERED]], { ...aged, accountId: uniqueAccountId() }),
    ].map(({ event }) => event);
    if (!short || !usual) throw new Error('There are two.');
    scene.historyDays.set(short.accountId, 30);
    expect(await scene.moveAfter()).toMatchObject({ moved: 2 });
    expect(scene.history.find(short.accountId, short.id)).toBeUndefined();
    expect(scene.history.find(usual.accountId, usual.id)).toBeDefined();
  });
});

describe('an id', () => {
  it('stays known if a client chose it', async () => {
    const { event } = await scene.arrange();
    // As a request has left it that came before its event was stored.
    const claim = { digest: digestOf(event.body), accepted_at: event.acceptedAt };
    await scene.redis.client.hset(keys.eventClaim(event.accountId, event.id), claim);
    await scene.moveAfter();
    const { moved, isListed } = await scene.movedIds.look(
      event.accountId,
      event.id,
      scene.now,
    )(scene.redis.client);
    expect([moved?.kind, moved?.acceptedAt, isListed]).toEqual(['claimed', event.acceptedAt, false]);
    expect(moved && isOfDigest(moved, digestOf(event.body))).toBe(true);
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('stays known if its event came by the queue', async () => {
    const { event } = await scene.arrange([[DELIVERED]], { isQueued: true });
    await scene.moveAfter();
    const { moved } = await scene.movedIds.look(event.accountId, event.id, scene.now)(scene.redis.client);
    expect(moved?.kind).toBe('queued');
    expect(moved && isOfDigest(moved, digestOf(event.body))).toBe(true);
  });

  it('is forgotten if the API made it', async () => {
    const { event } = await scene.arrange();
    await scene.moveAfter(600_000);
    expect(
      (await scene.movedIds.look(event.accountId, event.id, scene.now)(scene.redis.client)).moved,
    ).toBeUndefined();
    await scene.letLapse();
    expect(await scene.redis.client.keys('*moved*')).toEqual([]);
  });

  it('is not stored again while it lapses, if the API made it: its connection may break, and repeat what stored it', async () => {
    const { client } = scene.redis;
    const { endedList, movedIds } = scene;
    const parts = { ...openPublishingParts(client), endedList, movedIds, clock: () => scene.now };
    const event = buildEvent({ acceptedAt: scene.now });
    const publish = async () => await fanOutEvents(parts, [{ event, receivers: [] }]);
    await publish();
    await scene.moveAfter(1_000, { moveAfterMs: 0 });
    expect(await scene.eventStore.hasLapsed(event.accountId, event.id)).toBe(true);
    await publish();
    expect(await scene.eventStore.hasLapsed(event.accountId, event.id)).toBe(true);
    expect(await client.zcard(keys.events(event.accountId))).toBe(0);
  });
});

describe('what has not ended', () => {
  it.each([
    ['was requested once more', { kind: 'requested', requestId: 'r', trigger: 'manual', requestedAt: 1 }],
    ['is tried again', FAILED],
  ] as const)('stays, and is not looked at again: a delivery that %s', async (_which, fact) => {
    const { event, endpointIds } = await scene.arrange([[EXHAUSTED]]);
    const parts = { eventId: event.id, endpointId: only(endpointIds) };
    await scene.deliveryStore.append(parts, fact);
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect(await scene.endedList.count()).toBe(0);
    expect(await scene.logInRedis(parts)).not.toBeNull();
    expect(scene.history.writes).toBe(0);
  });

  it('stays: a delivery that has a job', async () => {
    const { event, endpointIds } = await scene.arrange();
    const { accountId, id: eventId } = event;
    const delivery = { accountId, eventId, endpointId: only(endpointIds) };
    await scene.parts.deliveryQueue.addAll([delivery]);
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect(await scene.logInRedis(delivery)).not.toBeNull();
    expect((await scene.eventStore.listReceivers(accountId, eventId, 1)).members).toHaveLength(1);
    await scene.parts.deliveryQueue.removeIdle([delivery]);
    await scene.redis.client.del(...(await scene.redis.client.keys('*bull*')));
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
  });

  it('stays: an event that is still fanned out, for an hour at most', async () => {
    const { event } = await scene.arrange();
    await scene.redis.client.zrem(keys.events(event.accountId), event.id);
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    await scene.eventStore.enlistAll([{ event, deliveries: 1 }])(scene.redis.client);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });

    const broken = await scene.arrange();
    await scene.redis.client.zrem(keys.events(broken.event.accountId), broken.event.id);
    await scene.moveAfter();
    expect(await scene.moveAfter(3_600_000)).toMatchObject({ moved: 1 });
  });

  it('stays: what belongs to an account that is erased', async () => {
    const { event } = await scene.arrange();
    scene.erasing.add(event.accountId);
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect(scene.history.writes).toBe(0);
    await scene.redis.client.del(keys.event(event.accountId, event.id));
    await scene.moveAfter(2 * MOVE_AFTER_MS);
    expect(await scene.endedList.count()).toBe(0);
  });
});

describe('what lapses', () => {
  async function arrangeLapsing() {
    const { event, endpointIds } = await scene.arrange([[FAILED, DELIVERED]]);
    const parts = { eventId: event.id, endpointId: only(endpointIds) };
    const log = await scene.logInRedis(parts);
    await scene.moveAfter();
    return { event, parts, log };
  }

  it('gets nothing any more', async () => {
    const { parts, log } = await arrangeLapsing();
    await scene.deliveryStore.append(parts, FAILED);
    expect(await scene.logInRedis(parts)).toBe(log);
  });

  it('is gone at once while processes of the version before run, which would write to it', async () => {
    const { event, endpointIds } = await scene.arrange();
    const { client } = scene.redis;
    await scene.moveAfter(MOVE_AFTER_MS, { movedStore: new MovedStore(client, testRetention, 'former') });
    const left = [
      keys.event(event.accountId, event.id),
      keys.delivery(only(endpointIds), event.id),
      keys.lapsing(only(endpointIds), event.id),
    ];
    // It takes a millisecond.
    while ((await client.exists(...left)) > 0);
    expect(await client.exists(...left)).toBe(0);
  });

  it('gets nothing though the clock of Redis was set back, and it lapses later', async () => {
    const { parts, log } = await arrangeLapsing();
    const { client } = scene.redis;
    for (const key of await client.keys('*')) {
      const left = await client.pttl(key);
      if (left > 0) await client.pexpire(key, left + 3_600_000);
    }
    await scene.deliveryStore.append(parts, FAILED);
    expect(await scene.logInRedis(parts)).toBe(log);
  });

  it('is kept no longer by a worker that has read it', async () => {
    const { event } = await arrangeLapsing();
    await scene.eventStore.keep(event.accountId, event.id, 0);
    const left = await scene.redis.client.pttl(keys.event(event.accountId, event.id));
    expect(left).toBeLessThanOrEqual(LAPSES_AFTER_MS);
  });

  it('is not stored again, but kept again for a receiver whose delivery Redis has lost', async () => {
    const { event } = await arrangeLapsing();
    const { client } = scene.redis;
    const lost = uniqueEndpointId();
    expect(await scene.eventStore.save(event, [lost])(client)).toBe(false);
    expect(await scene.eventStore.save(event, [lost], { isLost: true })(client)).toBe(true);
    expect(await scene.eventStore.hasLapsed(event.accountId, event.id)).toBe(false);
    expect(await client.pttl(keys.event(event.accountId, event.id))).toBeGreaterThan(LAPSES_AFTER_MS);
    expect((await scene.eventStore.listReceivers(event.accountId, event.id, 10)).members).toEqual([lost]);
    expect(await scene.movedStore.countsOf(event.accountId, event.id)).toEqual({ delivered: 1 });
  });

  it('is no event that is stored only after a process that moves others has seen that it is gone', async () => {
    const { client } = scene.redis;
    const event = buildEvent({ acceptedAt: scene.now });
    await scene.endedList.add({ accountId: event.accountId, eventId: event.id }, scene.now);
    await scene.moveAfter();
    expect(await scene.endedList.count()).toBe(0);
    await scene.eventStore.save(event, [])(client);
    expect(await scene.eventStore.hasLapsed(event.accountId, event.id)).toBe(false);
  });

  it('is no event that was stored again, before the counts of the one that has lapsed are gone', async () => {
    const { event } = await arrangeLapsing();
    const { accountId, id } = event;
    await scene.redis.client.del(keys.event(accountId, id));
    const { acceptedAt } = event;
    await scene.arrange([[DELIVERED], [FAILED]], { accountId, id, acceptedAt });
    await scene.moveAfter();
    expect(await scene.movedStore.countsOf(accountId, id)).toEqual({ delivered: 2 });
    expect(await scene.eventStore.hasLapsed(accountId, id)).toBe(false);
  });

  it('loses its payload, which is not taken off what its account uses once more', async () => {
    const { event, parts } = await arrangeLapsing();
    const onErased = jest.fn();
    const { client } = scene.redis;
    const store = new EventStore(client, testRetention, undefined, { onErased });
    expect(await store.erasePayload(event.accountId, event.id, scene.now)).toBe(true);
    expect((await store.find(event.accountId, event.id))?.body).toBeUndefined();
    expect(onErased).not.toHaveBeenCalled();
    await scene.letLapse();
    expect(await scene.logInRedis(parts)).toBeNull();
  });
});

describe('what changes while it moves', () => {
  async function arrangeChange(
    change: (parts: Changing) => Promise<unknown>,
    head: Partial<AcceptedEvent> = {},
  ) {
    const { event, endpointIds } = await scene.arrange([[EXHAUSTED]], head);
    const parts = { eventId: event.id, endpointId: only(endpointIds) };
    const { accountId } = event;
    let isFirst = true;
    scene.history.onWrite = async () => {
      if (isFirst) await change({ accountId, ...parts });
      isFirst = false;
    };
    return { event, parts, accountId };
  }
  type Changing = { accountId: typeof event.accountId } & Parameters<typeof scene.logInRedis>[0];
  const event = { accountId: '' as Awaited<ReturnType<MovingScene['arrange']>>['event']['accountId'] };

  it('moves as it is then: an attempt that was recorded late', async () => {
    const { parts, accountId } = await arrangeChange((delivery) =>
      scene.deliveryStore.append(delivery, { ...DELIVERED, isLate: true } as typeof DELIVERED),
    );
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect((await scene.deliveryStore.find(parts))?.attempts).toHaveLength(2);
    await scene.moveAll();
    expect(readSummary(scene.history.logOf(accountId, parts) ?? '')).toMatchObject({
      status: 'delivered',
      attemptCount: 2,
    });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves as it is then: a payload that was erased, and the answers after it', async () => {
    const { parts, accountId } = await arrangeChange(async (delivery) => {
      await scene.eventStore.erasePayload(delivery.accountId, delivery.eventId, 77);
      await scene.deliveryStore.eraseAnswersOf(delivery, 77);
    });
    await scene.moveAfter();
    expect(scene.history.find(accountId, parts.eventId)?.dataText).toBeDefined();
    await scene.moveAll();
    expect(scene.history.find(accountId, parts.eventId)).toMatchObject({
      head: { erasedAt: 77 },
      dataText: undefined,
    });
    expect(scene.history.logOf(accountId, parts)).not.toContain('oh no');
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves as it is then: a payload that was erased, and the answers not yet', async () => {
    const { parts, accountId } = await arrangeChange((delivery) =>
      scene.eventStore.erasePayload(delivery.accountId, delivery.eventId, 77),
    );
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect(await scene.eventStore.findHead(accountId, parts.eventId)).toMatchObject({ erasedAt: 77 });
    await scene.moveAll();
    expect(scene.history.find(accountId, parts.eventId)?.dataText).toBeUndefined();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves as it is then: a payload that was erased, of an event with a long head', async () => {
    const { parts, accountId } = await arrangeChange(
      (delivery) => scene.eventStore.erasePayload(delivery.accountId, delivery.eventId, 77),
      LONG_HEAD,
    );
    await scene.moveAfter();
    expect(await scene.eventStore.findHead(accountId, parts.eventId)).toMatchObject({ erasedAt: 77 });
    await scene.moveAll();
    expect(scene.history.find(accountId, parts.eventId)?.dataText).toBeUndefined();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('stays: what is about to be sent again, and moves later if it is not', async () => {
    const { parts, accountId } = await arrangeChange((delivery) =>
      scene.parts.rehydrationStore.pin(delivery.accountId, delivery)(scene.redis.client),
    );
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    expect(await scene.logInRedis(parts)).not.toBeNull();
    await scene.redis.client.del(
      keys.pinned(parts.endpointId, parts.eventId),
      keys.pinnedEvent(accountId, parts.eventId),
    );
    await scene.moveAll();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('stays: an event that an endpoint is added to', async () => {
    const other = await scene.arrange([[FAILED]]);
    const {
      parts,
      accountId,
      event: published,
    } = await arrangeChange((delivery) =>
      scene.eventStore.addReceivers(
        delivery.accountId,
        delivery.eventId,
        other.endpointIds,
      )(scene.redis.client),
    );
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(await scene.eventStore.find(accountId, parts.eventId)).toMatchObject({ body: published.body });
  });
});

describe('what the history refuses', () => {
  it('is refused, stays in Redis and is logged; all others move', async () => {
    const all = await Promise.all(Array.from({ length: 9 }, () => scene.arrange()));
    const bad = only(all.slice(4));
    const { accountId, id: eventId } = bad.event;
    const parts = { eventId, endpointId: only(bad.endpointIds) };
    scene.history.refusalOf = ({ id }) => (id === eventId ? '22001' : undefined);
    expect(await scene.moveAfter()).toMatchObject({ moved: 8 });
    expect(scene.signals.named('history.row_refused')).toEqual([
      {
        name: 'history.row_refused',
        accountId,
        eventId,
        deliveryId: deliveryIdOf(parts),
        code: '22001',
        reason: '22001: no luck',
      },
    ]);
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([0, 1]);
    expect(await scene.logInRedis(parts)).not.toBeNull();

    scene.history.refusalOf = () => undefined;
    await scene.endedList.putRefusedBack(scene.now);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('is refused, and others move, though there is no time to find all of it', async () => {
    const all = [];
    for (let i = 0; i < 8; i += 1) all.push(await scene.arrange());
    const bad = new Set(all.filter((_, i) => i % 4 === 1).map(({ event }) => event.id));
    scene.history.refusalOf = ({ id }) => (bad.has(id) ? '22001' : undefined);
    let left = 5;
    scene.history.onWrite = () => {
      left -= 1;
      if (left < 0) throw new Error('It has been too long.');
    };
    // All, four, two, the first one, and the second one, which it is.
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([6, 1]);
    left = 100;
    expect(await scene.moveAfter()).toMatchObject({ moved: 5 });
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([0, 2]);
  });

  it('is a fault of the table when it is all of a full batch: nothing is refused', async () => {
    const { event } = await scene.arrange([]);
    for (let i = 0; i < BATCH; i += 1) await scene.arrange([], { accountId: event.accountId });
    scene.history.refusalOf = () => '23514';
    await expect(scene.moveAfter()).rejects.toThrow(`refuses all ${BATCH} events (23514: no luck)`);
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([BATCH + 1, 0]);
  });

  it.each([
    [
      'a log that is none',
      (at: Parts) => scene.redis.client.rpush(keys.delivery(at.endpointId, at.eventId), 'x'),
    ],
    [
      'receivers that are none',
      (at: Parts) => scene.redis.client.set(keys.receivers(at.accountId, at.eventId), 'x'),
    ],
    [
      'a body in another form',
      (at: Parts) => scene.redis.client.set(keys.event(at.accountId, at.eventId), '1 a.b\n{"x":1}'),
    ],
  ])('is what has another form in Redis than it should: %s', async (_what, spoil) => {
    const [good, bad] = [await scene.arrange(), await scene.arrange()];
    const { accountId, id: eventId } = bad.event;
    const at = { accountId, eventId, endpointId: only(bad.endpointIds) };
    await scene.redis.client.del(keys.delivery(at.endpointId, eventId));
    await spoil(at);
    if ((await scene.redis.client.type(keys.delivery(at.endpointId, eventId))) === 'none') {
      await scene.deliveryStore.append(at, DELIVERED);
    }
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(scene.history.find(good.event.accountId, good.event.id)).toBeDefined();
    expect(await scene.endedList.countRefused()).toBe(1);
    expect(scene.signals.named('history.row_refused')).toMatchObject([{ eventId }]);
  });
  interface Parts {
    readonly accountId: typeof event.accountId;
    readonly eventId: typeof event.id;
    readonly endpointId: Awaited<ReturnType<MovingScene['arrange']>>['endpointIds'][number];
  }
  const event = {} as Awaited<ReturnType<MovingScene['arrange']>>['event'];
});

it('gives back what it has claimed, as it was, while the history is away', async () => {
  await scene.arrange();
  const endedSince = scene.now;
  scene.history.onWrite = () => {
    throw new Error('ECONNREFUSED');
  };
  await expect(scene.moveAfter()).rejects.toThrow('ECONNREFUSED');
  expect(await scene.endedList.oldest()).toBe(endedSince);
  scene.history.onWrite = () => {};
  expect(await scene.moveAfter(0)).toMatchObject({ moved: 1 });
});

it('tells the history by when it must have written: an erasure waits for longer', async () => {
  await scene.arrange();
  let deadline = 0;
  const historyWriter = withMethods(scene.parts.historyWriter, {
    write: async (_events: unknown, until: number) => {
      deadline = until;
      return { kind: 'written' };
    },
  });
  await scene.moveAfter(MOVE_AFTER_MS, { historyWriter });
  expect(deadline).toBe(scene.now + 8_000);
});

it('takes no more than some megabytes at once', async () => {
  const body = (i: number) => `{"type":"a.b","data":"${String(i).padStart(1_000_000, '.')}"}`;
  const accountId = (await scene.arrange([])).event.accountId;
  for (let i = 0; i < 120; i += 1) await scene.arrange([], { accountId, type: 'a.b', body: body(i) });
  const sizes: number[] = [];
  scene.history.onWrite = (events) => void sizes.push(events.length);
  expect(await scene.moveAfter()).toEqual({ moved: 50, isFull: false });
  expect(await scene.moveAfter(0)).toMatchObject({ moved: 50 });
  expect(await scene.moveAfter(0)).toMatchObject({ moved: 21 });
  expect(sizes).toEqual([50, 50, 21]);
});

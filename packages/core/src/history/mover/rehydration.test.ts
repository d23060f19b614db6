import { keys } from '../../domain/keys';
import { LAPSES_AFTER_MS } from '../../domain/moved-event';
import { PINNED_FOR_MS } from '../../events/redis-rehydration';
import { atomicOneByOne } from '../../platform/redis-atomic';
import { fake } from '../../testing/fake';
import {
  type ArrangedEvent,
  DELIVERED,
  DELIVERED_THEN,
  EXHAUSTED,
  FAILED,
  MOVE_AFTER_MS,
  MovingScene,
} from '../../testing/moving-scene';
import { uniqueEndpointId } from '../../testing/unique-ids';
import { withMethods } from '../../testing/with-methods';
import { historyUnavailable } from '../database/pg-database';
import type { PgHistory } from '../database/pg-history';
import type { DeliveryKey } from '../history-source';
import type { MoverParts } from './mover-parts';
import { Rehydration } from './rehydration';

let scene: MovingScene;
beforeEach(async () => {
  scene = await MovingScene.open();
});
afterEach(() => scene.close());

const keysOf = ({ event, endpointIds }: ArrangedEvent): readonly DeliveryKey[] =>
  endpointIds.map((endpointId) => ({ eventId: event.id, createdAt: event.acceptedAt, endpointId }));

const rehydrateAll = (arranged: ArrangedEvent, wanted = keysOf(arranged)) =>
  new Rehydration(scene.parts).bringBack(arranged.event.accountId, wanted);

/** All that Redis has of some events, with how long it is kept. */
async function dump() {
  const found = (await scene.keysLeft()).filter((key) => !key.startsWith('pinned:') && key !== keys.ended);
  return new Map(
    await Promise.all(
      found.map(async (key) => {
        const { client } = scene.redis;
        const value =
          (await client.type(key)) === 'zset'
            ? await client.zrange(key, '0', '-1', 'WITHSCORES')
            : await client.get(key);
        return [key, [value, (await client.pttl(key)) > 0]] as const;
      }),
    ),
  );
}

it.each([
  ['while it lapses', async () => {}],
  ['and has lapsed', async () => await scene.letLapse()],
  ['and has lapsed in part', async () => void (await scene.redis.client.del(await anyLog()))],
])('brings back what has moved, as it was, %s', async (_when, pass) => {
  const arranged = await scene.arrange([[FAILED, DELIVERED_THEN], [EXHAUSTED]]);
  const before = await dump();
  await scene.moveAfter();
  await pass();
  expect(await scene.keysLeft()).toEqual([]);
  await rehydrateAll(arranged);
  expect(await dump()).toEqual(before);
  const { accountId, id } = arranged.event;
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({});
  // It counts for the account again.
  expect(scene.usage.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(0);
});

async function anyLog(): Promise<string> {
  return (await scene.redis.client.keys('delivery:*'))[0] ?? '';
}

it('brings back one delivery of many, and the event with the number of the others', async () => {
  const arranged = await scene.arrange([[DELIVERED], [EXHAUSTED], [DELIVERED]]);
  await scene.moveAfter();
  await rehydrateAll(arranged, keysOf(arranged).slice(0, 1));
  const { accountId, id } = arranged.event;
  expect((await scene.eventStore.listReceivers(accountId, id, 10)).members).toEqual([
    arranged.endpointIds[0],
  ]);
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({ delivered: 1, exhausted: 1 });
});

it('brings back a delivery whose event has stayed', async () => {
  const arranged = await scene.arrange([[DELIVERED], [FAILED]]);
  await scene.moveAfter();
  const { accountId, id } = arranged.event;
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({ delivered: 1 });
  await rehydrateAll(arranged);
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({});
  expect((await scene.eventStore.listReceivers(accountId, id, 10)).members).toHaveLength(2);
});

describe('an event of which one delivery is sent again', () => {
  /** While both of its deliveries move, the other one is about to be sent again. */
  async function arrangePinned(change: Partial<MoverParts> = {}) {
    const arranged = await scene.arrange([[DELIVERED], [EXHAUSTED]]);
    const [moving, resent] = keysOf(arranged);
    if (!moving || !resent) throw new Error('There are two.');
    scene.history.onWrite = async () => await rehydrateAll(arranged, [resent]);
    await scene.moveAfter(MOVE_AFTER_MS, change);
    scene.history.onWrite = async () => {};
    return { arranged, moving };
  }

  it('keeps the log of another one that it does not count as moved', async () => {
    const { moving } = await arrangePinned();
    expect(await scene.redis.client.exists(keys.lapsing(moving.endpointId, moving.eventId))).toBe(0);
    expect(await scene.redis.client.pttl(keys.delivery(moving.endpointId, moving.eventId))).toBeGreaterThan(
      2 * LAPSES_AFTER_MS,
    );
    await unpin();
    await scene.moveAll();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('has another one back that lapses, and is not counted as moved yet, as in a Cluster', async () => {
    const { arranged, moving } = await arrangePinned({ atomic: atomicOneByOne(scene.redis.client) });
    const { client } = scene.redis;
    expect(await client.exists(keys.lapsing(moving.endpointId, moving.eventId))).toBe(1);
    await rehydrateAll(arranged, [moving]);
    const fact = { kind: 'requested', requestId: 'r', trigger: 'manual', requestedAt: scene.now } as const;
    const log = await scene.logInRedis(moving);
    const length = Buffer.byteLength(log ?? '');
    expect(await scene.deliveryStore.appendIfUnchanged(moving, fact, length)).toBe(true);
  });
});

it('brings back an event for an endpoint that has not got it', async () => {
  const arranged = await scene.arrange([[DELIVERED]]);
  await scene.moveAfter();
  const { accountId, id, acceptedAt, body } = arranged.event;
  const endpointId = uniqueEndpointId();
  await rehydrateAll(arranged, [{ eventId: id, createdAt: acceptedAt, endpointId }]);
  expect(await scene.eventStore.find(accountId, id)).toMatchObject({ body });
  expect((await scene.eventStore.listReceivers(accountId, id, 10)).members).toEqual([]);
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({ delivered: 1 });
  expect(await scene.redis.client.exists(keys.delivery(endpointId, id))).toBe(0);
  await unpin();
  await scene.moveAll();
  expect(await scene.keysLeft()).toEqual([]);
});

it('brings back an erased event without a payload', async () => {
  const arranged = await scene.arrange([[DELIVERED]]);
  const { accountId, id } = arranged.event;
  await scene.eventStore.erasePayload(accountId, id, 77);
  await scene.moveAfter();
  await rehydrateAll(arranged);
  expect(await scene.eventStore.findHead(accountId, id)).toMatchObject({ erasedAt: 77 });
  expect(await scene.redis.client.get(keys.event(accountId, id))).toMatch(/,"erased_at":77\}\n$/);
});

it('asks the history for nothing that is in Redis, and keeps it from moving', async () => {
  const arranged = await scene.arrange([[EXHAUSTED], [FAILED], []]);
  const away = jest.fn(async () => {
    throw historyUnavailable();
  });
  const pgHistory = fake<PgHistory>({ readForRehydration: away, countDeliveries: away, readHeads: away });
  // A replay may want it for an endpoint that has not got it.
  const missing = { ...keysOf(arranged)[0], endpointId: uniqueEndpointId() } as DeliveryKey;
  const wanted = [...keysOf(arranged), missing];
  await new Rehydration({ ...scene.parts, pgHistory }).bringBack(arranged.event.accountId, wanted);
  expect(away).not.toHaveBeenCalled();
  expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
});

it('says when the history is away, and leaves nothing behind', async () => {
  const arranged = await scene.arrange();
  await scene.moveAfter();
  const readForRehydration = async () => {
    throw historyUnavailable();
  };
  const pgHistory = withMethods(scene.parts.pgHistory, { readForRehydration });
  const rehydration = new Rehydration({ ...scene.parts, pgHistory });
  const rehydrated = rehydration.bringBack(arranged.event.accountId, keysOf(arranged));
  await expect(rehydrated).rejects.toMatchObject({ code: 'history_unavailable' });
  await unpin();
  expect(await scene.keysLeft()).toEqual([]);
});

it('leaves alone what the history does not know', async () => {
  const arranged = await scene.arrange([]);
  const unknown = { eventId: arranged.event.id, createdAt: 1, endpointId: uniqueEndpointId() };
  await scene.redis.client.flushdb();
  await rehydrateAll(arranged, [unknown]);
  await unpin();
  expect(await scene.keysLeft()).toEqual([]);
});

describe('what was brought back', () => {
  it('stays for as long as it has a job, and moves again with what has happened since', async () => {
    const arranged = await scene.arrange([[EXHAUSTED]]);
    await scene.moveAfter();
    await rehydrateAll(arranged);
    const { accountId, id: eventId } = arranged.event;
    const [endpointId = uniqueEndpointId()] = arranged.endpointIds;
    const delivery = { accountId, eventId, endpointId };
    const request = { requestId: 'r', trigger: 'manual', requestedAt: scene.now } as const;
    await scene.parts.deliveryQueue.addRequested([{ ...delivery, request }]);
    await unpin();
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });

    await scene.deliveryStore.append(delivery, { kind: 'requested', ...request });
    await scene.deliveryStore.append(delivery, DELIVERED_THEN);
    await scene.redis.client.del(...(await scene.redis.client.keys('*bull*')));
    await scene.endedList.add(delivery, scene.now);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(await scene.keysLeft()).toEqual([]);
    expect(scene.history.logOf(accountId, delivery)?.split('\n')).toHaveLength(4);
  });

  it('moves again once nobody is about to send it', async () => {
    const arranged = await scene.arrange();
    await scene.moveAfter();
    await rehydrateAll(arranged);
    await rehydrateAll(arranged);
    const { accountId } = arranged.event;
    await new Rehydration(scene.parts).end(accountId, keysOf(arranged));
    expect(await scene.moveAfter()).toMatchObject({ moved: 0 });
    await new Rehydration(scene.parts).end(accountId, keysOf(arranged));
    await new Rehydration(scene.parts).end(accountId, keysOf(arranged));
    expect(await scene.redis.client.keys('pinned:*')).toEqual([]);
    expect(await scene.moveAfter()).toMatchObject({ moved: 1 });
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('keeps its place in the list of events, though a process that moves others has seen that it was gone', async () => {
    const arranged = await scene.arrange();
    await scene.moveAfter();
    const { accountId, id: eventId } = arranged.event;
    // A process may die before it takes it off the list of what is to move.
    await scene.endedList.addAll(
      arranged.endpointIds.map((endpointId) => ({ accountId, eventId, endpointId })),
      scene.now,
    )(scene.redis.client);
    await scene.arrange([[EXHAUSTED]]);
    scene.history.onWrite = async () => {
      scene.history.onWrite = async () => {};
      await rehydrateAll(arranged);
    };
    await scene.moveAfter();
    expect(await scene.redis.client.zscore(keys.events(accountId), eventId)).not.toBeNull();
    await unpin();
    await scene.moveAll();
    expect(await scene.keysLeft()).toEqual([]);
  });

  it('moves again after a minute if nobody sends it', async () => {
    const arranged = await scene.arrange();
    await scene.moveAfter();
    await rehydrateAll(arranged);
    const pins = await scene.redis.client.keys('pinned:*');
    const ttls = await Promise.all(pins.map((key) => scene.redis.client.pttl(key)));
    expect(ttls).toHaveLength(2);
    for (const ttl of ttls) expect(ttl).toBeLessThanOrEqual(PINNED_FOR_MS);
    for (const ttl of ttls) expect(ttl).toBeGreaterThan(0);
    expect(await scene.moveAfter(MOVE_AFTER_MS)).toMatchObject({ moved: 0 });
    await unpin();
    await scene.moveAll();
    expect(await scene.keysLeft()).toEqual([]);
  });
});

/** As when a minute has gone by. */
async function unpin(): Promise<void> {
  await scene.redis.client.del(...(await scene.redis.client.keys('pinned:*')));
}

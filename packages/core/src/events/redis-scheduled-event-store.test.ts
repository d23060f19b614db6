import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { encodeEvent } from './event-text';
import { EventStore } from './redis-event-store';
import { ScheduledEventStore } from './redis-scheduled-event-store';

const RETENTION = { ageMs: 60_000, count: 100 };
const HOUR_MS = 3_600_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

// Events that the version before has stored stay for their RETENTION, and those that wait for longer.
describe.each(['current', 'former'] as const)('a scheduled event in the form %s', (form) => {
  async function arrange({ dueInMs = HOUR_MS, group }: { dueInMs?: number; group?: string } = {}) {
    const now = Date.now();
    const deliverAt = now + dueInMs;
    const schedule = { state: 'waiting', publishedAt: now - HOUR_MS, deliverAt } as const;
    const event: AcceptedEvent = {
      ...buildEvent({ acceptedAt: deliverAt, body: '{"of":"it \\n 🚀"}', schedule }),
      ...(group === undefined ? {} : { group }),
    };
    const { accountId, id } = event;
    const scheduled = new ScheduledEventStore(redis.client, RETENTION, form);
    const store = new EventStore(redis.client, RETENTION, undefined, { form });
    await scheduled.save(event)(redis.client);
    return {
      ...{ now, event, accountId, id, deliverAt, schedule, scheduled, store },
      read: () => store.read(accountId, id),
      text: () => redis.client.get(keys.event(accountId, id)),
    };
  }

  it('is stored in that form', async () => {
    const { event, text } = await arrange();
    expect(await text()).toBe(encodeEvent(event, form));
  });

  it.each([undefined, '"state":"due" +1 -2,3'])(
    'is moved, and stays the same in all else, in group %j',
    async (group) => {
      const { event, id, accountId, deliverAt, scheduled, schedule, read, text } = await arrange({
        ...(group === undefined ? {} : { group }),
      });
      const movedTo = deliverAt + 5_000;
      expect(await scheduled.move(accountId, id, movedTo)(redis.client)).toBe(true);
      const moved = { ...event, acceptedAt: movedTo, schedule: { ...schedule, deliverAt: movedTo } };
      expect(await read()).toEqual(moved);
      expect(await text()).toBe(encodeEvent(moved, form));
      expect(await scheduled.see(accountId, id)).toEqual({
        state: 'waiting',
        deliverAt: movedTo,
        bytes: Buffer.byteLength(event.body),
        answer: undefined,
      });
    },
  );

  it('is cancelled, and says when it would have been due', async () => {
    const { event, now, accountId, id, deliverAt, scheduled, schedule, read, text } = await arrange();
    expect(await scheduled.cancel(accountId, id, now)(redis.client)).toBe(true);
    const cancelled = { ...event, acceptedAt: now, schedule: { ...schedule, state: 'cancelled' } } as const;
    expect(await read()).toEqual(cancelled);
    expect(await text()).toBe(encodeEvent(cancelled, form));
    expect(await scheduled.see(accountId, id)).toMatchObject({ state: 'cancelled', deliverAt });
    expect(await scheduled.cancel(accountId, id, now)(redis.client)).toBe(false);
    expect(await scheduled.begin(accountId, id, deliverAt)).toMatchObject({
      state: 'cancelled',
      isFirst: false,
    });
  });

  it('is begun once, and can be neither moved nor cancelled then', async () => {
    const { event, now, accountId, id, deliverAt, scheduled, schedule, text } = await arrange({
      dueInMs: -1,
    });
    const begun = { ...event, schedule: { ...schedule, state: 'due' } } as const;
    for (const isFirst of [true, false]) {
      const { id: eventId } = event;
      expect(await scheduled.begin(accountId, eventId, deliverAt)).toEqual({
        state: 'due',
        event: begun,
        isFirst,
      });
    }
    expect(await text()).toBe(encodeEvent(begun, form));
    expect(await scheduled.move(accountId, id, now + HOUR_MS)(redis.client)).toBe(false);
    expect(await scheduled.cancel(accountId, id, now)(redis.client)).toBe(false);
  });

  it('waits on when it is brought up too early', async () => {
    const { now, accountId, id, deliverAt, scheduled } = await arrange();
    expect(await scheduled.begin(accountId, id, now)).toEqual({ state: 'waiting', deliverAt });
  });

  it('is not saved over, nor sent, while it waits or once it was cancelled', async () => {
    const { event, now, accountId, id, scheduled, store } = await arrange();
    const { schedule: _schedule, ...atOnce } = event;
    expect(await store.save(atOnce)(redis.client)).toBe(false);
    await scheduled.cancel(accountId, id, now)(redis.client);
    expect(await store.save({ ...atOnce, isStored: true })(redis.client)).toBe(false);
  });

  it('has its receivers added once it is due', async () => {
    const { event, accountId, id, deliverAt, scheduled, store } = await arrange({ dueInMs: -1 });
    await scheduled.begin(accountId, id, deliverAt);
    expect(await store.save({ ...event, isStored: true })(redis.client)).toBe(true);
  });
});

it('is gone when there is none', async () => {
  const { accountId, id } = buildEvent();
  const scheduled = new ScheduledEventStore(redis.client, RETENTION);
  expect(await scheduled.see(accountId, id)).toEqual({
    state: 'gone',
    deliverAt: 0,
    bytes: 0,
    answer: undefined,
  });
  expect(await scheduled.begin(accountId, id, 0)).toEqual({ state: 'gone' });
  expect(await scheduled.move(accountId, id, Date.now())(redis.client)).toBe(false);
});

describe.each(['current', 'former'] as const)('an event in the form %s', (form) => {
  it('has its payload erased, keeps all else, and keeps the time of the first erasure', async () => {
    const event = buildEvent({ group: '"erased_at":1 !2', endpointIds: [] });
    const { accountId, id } = event;
    const store = new EventStore(redis.client, RETENTION, undefined, { form });
    await store.save(event)(redis.client);
    for (const at of [7, 8]) expect(await store.erasePayload(accountId, id, at)).toBe(true);
    const { body: _body, endpointIds: _ids, ...rest } = event;
    expect(await store.read(accountId, id)).toEqual({ ...rest, erasedAt: 7 });
    expect(await store.findHead(accountId, id)).toMatchObject({ isAimed: true, erasedAt: 7 });
  });

  it('is opened with its receivers, if it is of the type', async () => {
    const event = buildEvent();
    const { accountId, id, type } = event;
    const store = new EventStore(redis.client, RETENTION, undefined, { form });
    const endpointId = 'ep_1' as never;
    await store.save(event, [endpointId])(redis.client);
    expect((await store.open(accountId, id, 5, { type }))?.receivers.members).toEqual([endpointId]);
    expect((await store.open(accountId, id, 5, { type: 'an.other' }))?.receivers.members).toEqual([]);
  });
});

import { setTimeout as wait } from 'node:timers/promises';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { Signal } from '../domain/signal';
import { AppError } from '../platform/app-error';
import { DeliveryScene, responded } from '../testing/arrange-delivery';
import { fake } from '../testing/fake';
import { uniqueEndpointId } from '../testing/unique-ids';
import type { AttemptParts } from './open-delivery';
import { persistFor } from './record-attempt';

// As long as between two tries.
const PAUSE_MS = 250;

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

describe('persistFor', () => {
  const delivery = { eventId: 'evt_1' as EventId, endpointId: uniqueEndpointId() };

  const notReachable = (call: number): Error => new AppError('storage_unavailable', `failure ${call}`);

  function failing(times: number, { onFailure = (_failures: number) => {}, failureOf = notReachable } = {}) {
    const failures: unknown[] = [];
    let calls = 0;
    const action = async () => {
      calls += 1;
      if (calls <= times) throw failureOf(calls);
    };
    const emit = (signal: Signal) => {
      if (signal.name !== 'delivery.follow_up_failed') return;
      failures.push(signal.error);
      onFailure(failures.length);
    };
    const persist = (abortSignal = new AbortController().signal) =>
      persistFor(fake<AttemptParts>({ emit }), delivery, action, abortSignal);
    return { persist, failures, calls: () => calls };
  }

  it('does what succeeds once', async () => {
    const { persist, failures, calls } = failing(0);
    await persist();
    expect({ calls: calls(), failures }).toEqual({ calls: 1, failures: [] });
  });

  it('repeats failing work until it succeeds, and reports each failure', async () => {
    const { persist, failures, calls } = failing(3);
    await persist();
    expect(calls()).toBe(4);
    expect(failures).toMatchObject([1, 2, 3].map((call) => ({ message: `failure ${call}` })));
  });

  it('gives up at once after a failure that is not of Redis', async () => {
    const failureOf = (call: number) => (call === 2 ? new Error('failure 2') : notReachable(call));
    const { persist, failures } = failing(3, { failureOf });
    await expect(persist()).rejects.toThrow('failure 2');
    expect(failures).toHaveLength(2);
  });

  it('gives up when it is told to, with what went wrong last', async () => {
    const stop = new AbortController();
    const onFailure = (failures: number) => {
      if (failures === 3) stop.abort();
    };
    const { persist } = failing(Number.POSITIVE_INFINITY, { onFailure });
    await expect(persist(stop.signal)).rejects.toThrow('failure 3');
  });

  it('does not wait any longer once it is told to give up', async () => {
    const stop = new AbortController();
    const { persist, calls } = failing(1);
    const pause = wait(PAUSE_MS, 'paused');
    const persisted = persist(stop.signal);
    setImmediate(() => stop.abort());
    expect(await Promise.race([persisted, pause])).toBeUndefined();
    expect(calls()).toBe(2);
  });
});

describe('an attempt that was responded to while Redis takes nothing', () => {
  it('is not made again, but recorded once it can be', async () => {
    const { deliver, requests, readRecord, signals } = await scene.arrange({
      results: [responded(204)],
      recordRefusals: 2,
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(signals.named('delivery.follow_up_failed')).toHaveLength(2);
    expect(signals.named('delivery.attempted')).toHaveLength(1);
  });

  it('is let go of when this process has to end before it could be recorded', async () => {
    const stop = new AbortController();
    const { deliver, readRecord } = await scene.arrange({
      results: [responded(204)],
      recordRefusals: 1,
      whileSending: () => stop.abort(),
    });
    await expect(deliver(stop.signal)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
  });

  it('rejects when its record can not be written, so that the attempt is made again', async () => {
    const { deliver } = await scene.arrange({
      results: [responded(204)],
      // To a key that holds something else than a log, nothing can be appended.
      whileSending: ({ endpointId, eventId }) =>
        scene.redis.client.rpush(keys.delivery(endpointId, eventId), 'x'),
    });
    await expect(deliver()).rejects.toThrow('WRONGTYPE');
  });
});

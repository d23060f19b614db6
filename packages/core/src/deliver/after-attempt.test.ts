import { CLOSED, FAILURES_TO_OPEN, MAX_OPEN_MS, MIN_OPEN_MS } from '../domain/breaker';
import type { DeliveryFact } from '../domain/delivery-fact';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { tallyOf } from '../endpoints/health/attempt-tally';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { secretUnreadable } from '../endpoints/seal';
import { DeliveryScene, HELD, NOW, refused, responded, SCHEDULE, SEND_MS } from '../testing/arrange-delivery';
import { buildAdmission } from '../testing/build-admission';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { fake } from '../testing/fake';
import { uniqueEventId } from '../testing/unique-ids';
import { type AfterAttemptInput, afterAttempt } from './after-attempt';
import type { Releaser } from './flow/releaser';
import type { AttemptParts } from './open-delivery';
import type { AttemptEffect } from './redis-attempt-store';

const DAY_MS = 86_400_000;

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

interface AttemptChange extends Partial<AfterAttemptInput> {
  /** Until when the breaker was open, as the attempt was admitted. */
  readonly openUntil?: number;
  readonly notifiesOfFailing?: boolean;
  readonly attemptKey?: string;
}

async function arrange({ endpoint = buildEndpoint(), isWatched = false } = {}) {
  const time = { now: NOW };
  const admission = scene.willClose(buildAdmission({ redis: scene.redis.client, clock: () => time.now }));
  await admission.endpointStore.create(endpoint);
  const asked: string[] = [];
  const releaser = fake<Releaser>({
    wakeUpAt: (_account: string, _endpoint: string, at: number) => asked.push(`wake up at ${at - NOW}`),
    grant: (_account: string, _endpoint: string, permits: number) => asked.push(`grant ${permits}`),
    isWatching: () => isWatched,
  });
  const disablePolicy = { afterMs: 5 * DAY_MS, failureSpanMs: DAY_MS / 2 };
  const parts = fake<AttemptParts>({ ...admission, disablePolicy, releaser });

  /** What an attempt's record says of it, as `record-attempt` has it. */
  async function record(delivered: boolean, change: AttemptChange): Promise<AttemptEffect> {
    const effect = await admission.attemptStore.record({
      delivery: { eventId: uniqueEventId(), endpointId: endpoint.id },
      fact: {
        kind: 'attempted',
        attempt: delivered ? buildAcceptedAttempt() : buildAttempt(),
        nextAttemptAt: undefined,
        isAborted: false,
      },
      logLength: 0,
      acceptedAt: NOW,
      openUntil: change.openUntil ?? 0,
      attemptKey: change.attemptKey,
      notifiesOfFailing: change.notifiesOfFailing ?? false,
      now: time.now,
    })(scene.redis.client);
    if (!effect) throw new Error('Another attempt has gone on.');
    return effect;
  }

  async function end(delivered: boolean, change: AttemptChange = {}) {
    const { openUntil: _open, notifiesOfFailing: _notifies, attemptKey: _key, ...input } = change;
    const effect = await record(delivered, change);
    return await afterAttempt(parts, {
      endpoint,
      effect,
      delivered,
      disabledBy: undefined,
      isInLane: false,
      letsOthersGo: false,
      hasWaited: false,
      ...input,
    });
  }

  async function fail(times: number, change: AttemptChange = {}): Promise<void> {
    for (let count = 0; count < times; count += 1) await end(false, change);
  }

  return {
    ...admission,
    endpoint,
    time,
    asked,
    fail,
    failOnce: (change: AttemptChange = {}) => end(false, change),
    succeed: (change: AttemptChange = {}) => end(true, change),
    wakeUpDueAt: () =>
      admission.heldDeliveries.wakeUpDueAt({ accountId: endpoint.accountId, endpointId: endpoint.id }),
    isCountedAsOpen: async () =>
      (await scene.redis.client.zscore(keys.openBreakers, `${endpoint.accountId}/${endpoint.id}`)) !== null,
    readBreaker: () => admission.admissionStore.readBreaker(endpoint.id),
    readEndpoint: () => admission.endpointStore.find(endpoint.accountId, endpoint.id),
  };
}

describe('a success', () => {
  it('means nothing at an endpoint that is well', async () => {
    const { succeed, endpoint, asked, wakeUpDueAt } = await arrange();
    expect(await succeed()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
    expect(await scene.redis.client.exists(keys.breaker(endpoint.id))).toBe(0);
    expect(await wakeUpDueAt()).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('ends a row of failures that was too short to open the breaker, and lets nobody know', async () => {
    const { fail, succeed, readBreaker, signals, wakeUpDueAt } = await arrange();
    await fail(FAILURES_TO_OPEN - 1);
    await succeed();
    expect(await readBreaker()).toEqual(CLOSED);
    expect(await wakeUpDueAt()).toBeUndefined();
    expect(signals.named('breaker.closed')).toEqual([]);
  });

  it('closes a breaker that was open, says so, and has all processes wake it up now', async () => {
    const { fail, succeed, readBreaker, signals, wakeUpDueAt, endpoint } = await arrange();
    await fail(FAILURES_TO_OPEN);
    await succeed();
    expect(await readBreaker()).toEqual(CLOSED);
    expect(await wakeUpDueAt()).toBe(NOW);
    expect(signals.named('breaker.closed')).toEqual([
      { name: 'breaker.closed', accountId: endpoint.accountId, endpointId: endpoint.id },
    ]);
  });

  it('ends that its endpoint counts among those with an open breaker', async () => {
    const { fail, succeed, isCountedAsOpen } = await arrange();
    await fail(FAILURES_TO_OPEN - 1);
    expect(await isCountedAsOpen()).toBe(false);
    await fail(1);
    expect(await isCountedAsOpen()).toBe(true);
    await succeed();
    expect(await isCountedAsOpen()).toBe(false);
  });
});

describe('a failure', () => {
  it('is counted, and that is all while they are few', async () => {
    const { fail, readBreaker, signals } = await arrange();
    await fail(FAILURES_TO_OPEN - 1);
    expect(await readBreaker()).toMatchObject({ failures: FAILURES_TO_OPEN - 1, openUntil: 0 });
    expect(signals.named('breaker.opened')).toEqual([]);
  });

  it('that is one too many opens the breaker, is announced, and has it woken up when it half-opens', async () => {
    const { fail, readBreaker, signals, asked, endpoint } = await arrange();
    await fail(FAILURES_TO_OPEN);
    expect(await readBreaker()).toMatchObject({ failures: FAILURES_TO_OPEN, openUntil: NOW + MIN_OPEN_MS });
    expect(asked).toEqual([`wake up at ${MIN_OPEN_MS}`]);
    expect(signals.named('breaker.opened')).toEqual([
      {
        name: 'breaker.opened',
        accountId: endpoint.accountId,
        endpointId: endpoint.id,
        failures: FAILURES_TO_OPEN,
        openForMs: MIN_OPEN_MS,
      },
    ]);
  });

  it('opens it once, however many were under way as it opened', async () => {
    const { failOnce, readBreaker, signals } = await arrange();
    await Promise.all(Array.from({ length: 4 * FAILURES_TO_OPEN }, () => failOnce()));
    expect(signals.named('breaker.opened')).toHaveLength(1);
    expect(await readBreaker()).toMatchObject({ failures: FAILURES_TO_OPEN, openUntil: NOW + MIN_OPEN_MS });
  });

  it.each([
    ['for a thirtieth of the time for which it has failed', 10 * 60_000, 20_000],
    ['for a minute at most', 30 * DAY_MS, MAX_OPEN_MS],
  ])('of a probe keeps it open %s', async (_what, failingForMs, openForMs) => {
    const { fail, failOnce, time, readBreaker } = await arrange();
    await fail(FAILURES_TO_OPEN);
    time.now += failingForMs;
    await failOnce({ openUntil: NOW + MIN_OPEN_MS });
    expect(await readBreaker()).toMatchObject({
      failures: FAILURES_TO_OPEN + 1,
      openUntil: time.now + openForMs,
    });
  });
});

describe('a receiver that wants nothing any more', () => {
  it.each(['gone', 'receiver'] as const)('disables its endpoint, and says why: %s', async (disabledBy) => {
    const { failOnce, readEndpoint, signals, endpoint } = await arrange();
    expect(await failOnce({ disabledBy })).toMatchObject({ disabledAs: disabledBy });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: disabledBy });
    expect(signals.named('endpoint.disabled')).toEqual([
      {
        name: 'endpoint.disabled',
        accountId: endpoint.accountId,
        endpointId: endpoint.id,
        reason: disabledBy,
      },
    ]);
  });

  it('disables its endpoint also with a success', async () => {
    const { succeed, readEndpoint } = await arrange();
    await succeed({ disabledBy: 'receiver' });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: 'receiver' });
  });

  it('brings back no endpoint that was deleted meanwhile', async () => {
    const { failOnce, readEndpoint, endpoint, endpointStore } = await arrange();
    await endpointStore.remove(endpoint.accountId, endpoint.id);
    await failOnce({ disabledBy: 'gone' });
    expect(await readEndpoint()).toBeUndefined();
  });

  it('is not any that fails', async () => {
    const { failOnce, readEndpoint, endpoint } = await arrange();
    await failOnce();
    expect(await readEndpoint()).toEqual(endpoint);
  });
});

describe('what is held', () => {
  it('goes on, two for each that ended well, when one had waited', async () => {
    const { succeed, asked } = await arrange();
    await succeed({ hasWaited: true });
    expect(asked).toEqual(['grant 2']);
  });

  it('goes on after any other one as well, once this process knows of it', async () => {
    const { succeed, asked } = await arrange({ isWatched: true });
    await succeed();
    expect(asked).toEqual(['grant 2']);
  });

  it('goes on one by one while attempts fail', async () => {
    const { failOnce, asked } = await arrange();
    await failOnce({ hasWaited: true });
    expect(asked).toEqual(['grant 1']);
  });

  it('waits when the failure has opened the breaker', async () => {
    const { fail, asked } = await arrange();
    await fail(FAILURES_TO_OPEN, { hasWaited: true });
    expect(asked.at(-1)).toBe(`wake up at ${MIN_OPEN_MS}`);
  });

  it('waits for some seconds when an attempt at a slow endpoint has failed, and not when it ended well', async () => {
    const { failOnce, succeed, concurrency, endpoint, asked } = await arrange({ isWatched: true });
    const permit = await concurrency.takePermit(endpoint, false, false);
    if (typeof permit === 'object') {
      concurrency.releasePermit(permit, { outcome: 'response_timeout', durationMs: 15_000 });
    }
    await failOnce();
    await succeed();
    expect(asked).toEqual(['wake up at 5000', 'grant 2']);
  });

  it.each([
    ['others wait behind this one', true, ['wake up at 0']],
    ['nobody does', false, []],
  ])('is looked for where there is an order if %s', async (_, letsOthersGo, expected) => {
    const { succeed, asked } = await arrange({ endpoint: buildEndpoint({ ordering: 'strict' }) });
    await succeed({ letsOthersGo });
    expect(asked).toEqual(expected);
  });

  it('for the rate limit is woken up when the attempt does not count any more', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    const { succeed, asked } = await arrange({ endpoint });
    await succeed({ attemptKey: 'a' });
    expect(asked).toEqual([]);
    await scene.redis.client.set(keys.rateWaiting(endpoint.id), '1');
    await succeed({ attemptKey: 'b' });
    expect(asked).toEqual(['wake up at 1001']);
  });
});

describe('an endpoint that has failed for too long', () => {
  // Created in days long past, and failing for a day.
  async function arrangeFailing(change: Partial<Endpoint> = {}) {
    const arranged = await arrange({ endpoint: buildEndpoint({ createdAt: NOW - 50 * DAY_MS, ...change }) });
    await scene.redis.client.set(keys.breaker(arranged.endpoint.id), `1 0 ${NOW - DAY_MS} 0`);
    return arranged;
  }

  it('is disabled by the next failure, which says so', async () => {
    const { failOnce, readEndpoint } = await arrangeFailing();
    expect(await failOnce()).toEqual({ disabledAs: 'failing', recoveredFrom: undefined });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: 'failing' });
  });

  it('is disabled once, however many attempts fail at the same time', async () => {
    const { failOnce, signals } = await arrangeFailing();
    const ends = await Promise.all(Array.from({ length: 8 }, () => failOnce()));
    expect(ends.filter(({ disabledAs }) => disabledAs === 'failing')).toHaveLength(1);
    expect(signals.named('endpoint.disabled')).toHaveLength(1);
  });

  it('is not disabled while its last success is not long ago', async () => {
    const { failOnce, readEndpoint, healthStore, endpoint } = await arrangeFailing();
    const tally = tallyOf({ at: NOW - 2 * DAY_MS, durationMs: 40 });
    await healthStore.addAll([{ endpointId: endpoint.id, tally }], NOW);
    expect(await failOnce()).toMatchObject({ disabledAs: undefined });
    expect(await readEndpoint()).toEqual(endpoint);
  });

  it('has a new period from when it was enabled', async () => {
    const { failOnce, readEndpoint, endpoint } = await arrangeFailing({ enabledAt: NOW - 2 * DAY_MS });
    await failOnce();
    expect(await readEndpoint()).toEqual(endpoint);
  });

  it('stays enabled when that was done while the attempt was under way', async () => {
    const { failOnce, readEndpoint, endpointStore, endpoint } = await arrangeFailing();
    const enabledMeanwhile = { ...endpoint, enabledAt: NOW };
    await endpointStore.update(endpoint.accountId, endpoint.id, () => enabledMeanwhile);
    expect(await failOnce()).toMatchObject({ disabledAs: undefined });
    expect(await readEndpoint()).toEqual(enabledMeanwhile);
  });
});

describe('trouble of which the account was told', () => {
  it('is over with the first success, which says so once', async () => {
    const { fail, failOnce, succeed } = await arrange();
    await failOnce();
    await failOnce({ notifiesOfFailing: true });
    await fail(FAILURES_TO_OPEN);
    const ends = await Promise.all([succeed(), succeed()]);
    expect(ends.map(({ recoveredFrom }) => recoveredFrom).toSorted()).toEqual([NOW, undefined]);
  });

  it('is none where the account was told of nothing', async () => {
    const { fail, succeed } = await arrange();
    await fail(3);
    expect(await succeed()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
  });
});

describe('a receiver that asks to be disabled', () => {
  const DISABLED = { status: 'disabled', disabledReason: 'receiver' };

  it('gets nothing any more, and what it did not accept is held', async () => {
    const { deliver, isHeld, moveClock, readEndpoint } = await scene.arrange({
      results: [responded(500, { wish: 'disable' })],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await readEndpoint()).toMatchObject(DISABLED);
    moveClock(SCHEDULE[0]);
    expect(await deliver()).toEqual(HELD);
    expect(await isHeld()).toBe(true);
  });

  it('is disabled also when it accepts', async () => {
    const { deliver, readRecord, readEndpoint } = await scene.arrange({
      results: [responded(200, { wish: 'disable' })],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
    expect(await readEndpoint()).toMatchObject(DISABLED);
  });
});

describe('its account', () => {
  const failedThrice: readonly DeliveryFact[] = [1, 2, 3].map((number) => ({
    kind: 'attempted',
    attempt: buildAttempt({ number }),
    nextAttemptAt: NOW,
  }));

  it('is told nothing of an attempt that goes well', async () => {
    const { deliver, raised } = await scene.arrange({ results: [responded(204)] });
    await deliver();
    expect(raised.events).toEqual([]);
  });

  it('is told of the fourth failure, and of the last', async () => {
    const { deliver, raised, endpoint } = await scene.arrange({ results: [refused], log: failedThrice });
    await deliver();
    expect(raised.events.map(({ type }) => type)).toEqual(['webhook.failing', 'delivery.exhausted']);
    expect(await readNotified(endpoint)).toEqual({ failingSince: NOW + SEND_MS, wasNotified: true });
  });

  it('is told when the receiver says that it is gone', async () => {
    const { deliver, raised, endpoint } = await scene.arrange({ results: [responded(410)] });
    await deliver();
    expect(raised.events).toMatchObject([
      { type: 'webhook.disabled', accountId: endpoint.accountId, data: { reason: 'gone' } },
    ]);
  });

  it('is told when what it was told of is over', async () => {
    const { deliver, raised, endpoint } = await scene.arrange({ results: [responded(204)] });
    await scene.redis.client.set(keys.breaker(endpoint.id), `1 0 ${NOW - 1} 1`);
    await deliver();
    expect(raised.events).toMatchObject([{ type: 'webhook.recovered' }]);
  });

  it('is told nothing of a delivery that was to tell it something', async () => {
    const { deliver, raised, endpoint } = await scene.arrange({
      results: [responded(410)],
      log: failedThrice,
      type: 'webhook.failing',
    });
    await deliver();
    expect(raised.events).toEqual([]);
    expect(await readNotified(endpoint)).toMatchObject({ wasNotified: false });
  });
});

describe('its endpoint', () => {
  it('gets the next one after one that had waited', async () => {
    const arranged = await scene.arrange({ results: [responded(204)], job: { hasWaited: true } });
    const { untilReleased } = await scene.holdNext(arranged);
    arranged.admission.releaser.start();
    await arranged.deliver();
    await untilReleased();
    expect(await arranged.admission.heldDeliveries.count(arranged.run.endpointId)).toBe(0);
  });

  it('gets nothing any more, until somebody enables it, when the receiver says that it is gone', async () => {
    const { deliver, isHeld, readRecord, moveClock, readEndpoint } = await scene.arrange({
      results: [responded(410)],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await readEndpoint()).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
    });
    moveClock(SCHEDULE[0]);
    expect(await deliver()).toEqual(HELD);
    expect(await isHeld()).toBe(true);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [{ responseStatus: 410 }] });
  });
});

describe('where deliveries go one at a time', () => {
  const strictEndpoint = () => buildEndpoint({ ordering: 'strict' });

  it('the next one goes once this one is delivered', async () => {
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), results: [responded(204)] });
    const { untilReleased } = await scene.giveTurn(arranged);
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    await untilReleased();
  });

  it('the next one goes once this one is delivered, though it has not waited, and nobody knows that another one has', async () => {
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), results: [responded(204)] });
    const { admission, run, event } = arranged;
    const own = { eventId: run.eventId, acceptedAt: event.acceptedAt };
    await admission.deliveryQueue.addAll([run]);
    admission.releaser.start();
    const { untilReleased, entry } = await scene.holdNext(arranged);
    await admission.besideLanes.join(run.endpointId, [own, entry])(scene.redis.client);
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    await untilReleased();
  });

  it('the next one goes when the code of this one fails for the last time, so that nothing is sent', async () => {
    const endpoint = buildEndpoint({
      ordering: 'strict',
      batch: { max_events: 2 },
      retrySchedule: [],
      transformation: { version: 1, isEnabled: true },
    });
    const store = new TransformationStore(scene.redis.client);
    const code = 'export default () => { throw new Error("no"); };';
    await store.save(endpoint.id, { code, savedAt: 1, savedBy: 'key_1' });
    const arranged = await scene.arrange({ endpoint });
    arranged.moveClock(60_000);
    const { untilReleased } = await scene.giveTurn(arranged);
    await arranged.deliver();
    expect(await arranged.readRecord()).toMatchObject({ status: 'exhausted' });
    await untilReleased();
  });

  it('the next one waits through the retries of this one, and goes once it is exhausted', async () => {
    const arranged = await scene.arrange({
      endpoint: strictEndpoint(),
      form: 'former',
      results: [responded(500), responded(500), responded(500)],
    });
    const { stays, untilReleased } = await scene.giveTurn(arranged);
    for (const delayMs of SCHEDULE) {
      await arranged.deliver();
      expect(await stays()).toBe(true);
      arranged.moveClock(delayMs);
    }
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    await untilReleased();
  });

  it('the next one goes when the receiver asks for the end of this one', async () => {
    const results = [responded(422, { wish: 'abort' })];
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), results });
    const { untilReleased } = await scene.giveTurn(arranged);
    await arranged.deliver();
    expect(await arranged.readRecord()).toMatchObject({ status: 'aborted' });
    await untilReleased();
  });
});

describe('where the deliveries of a group go one at a time', () => {
  it.each([
    ['native', 'order-1'],
    ['cloudevents_batch', 'order-1'],
    ['cloudevents_batch', undefined],
  ] as const)('one that is over leaves nothing of its lane: %s, %s', async (format, group) => {
    const endpoint = buildEndpoint({ ordering: 'group', format });
    const { deliver } = await scene.arrange({
      endpoint,
      results: [responded(204)],
      ...(group === undefined ? {} : { group }),
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    const left = ['order', 'turn', 'lines'].map((name) =>
      scene.redis.client.keys(`${name}:{${endpoint.id}}*`),
    );
    expect((await Promise.all(left)).flat()).toEqual([]);
  });
});

describe('the effects of a recorded attempt', () => {
  it('keeps no slot waiting for secrets that can not be read, and the attempt is not made again', async () => {
    const { deliver, requests } = await scene.arrange({
      results: [responded(410)],
      refusals: 1,
      refusal: secretUnreadable(),
    });
    await expect(deliver()).rejects.toMatchObject({ code: 'secret_unreadable' });
    expect(await deliver()).toEqual({ kind: 'later', delayMs: SCHEDULE[0] });
    expect(requests).toHaveLength(1);
  });

  it('is done all the same when it is refused at first, and does not change when the next attempt is due', async () => {
    const { deliver, signals, readEndpoint } = await scene.arrange({
      results: [responded(410)],
      refusals: 1,
    });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs: SCHEDULE[0], reason: 'http_4xx' });
    expect(signals.named('delivery.follow_up_failed')).toHaveLength(1);
    expect(await readEndpoint()).toMatchObject({ status: 'disabled' });
  });
});

/** Of the breaker's record. */
async function readNotified({ id }: Endpoint) {
  const [, , since, notified] = ((await scene.redis.client.get(keys.breaker(id))) ?? '').split(' ');
  return { failingSince: Number(since), wasNotified: notified === '1' };
}

import { CLOSED, FAILURES_TO_OPEN, MAX_OPEN_MS, MIN_OPEN_MS } from '../../domain/breaker';
import type { Endpoint } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { createDisable, createDisableFailing } from '../../endpoints/disable';
import { tallyOf } from '../../endpoints/health/attempt-tally';
import { buildAdmission } from '../../testing/build-admission';
import { buildAcceptedAttempt, buildAttempt } from '../../testing/build-attempt';
import { buildEndpoint } from '../../testing/build-endpoint';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEventId } from '../../testing/unique-ids';
import type { AttemptEffect } from './redis-attempt-store';
import { createSettle, type SettleInput } from './settle';

const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;

let redis: TestRedis;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await redis.close();
});

interface AttemptChange extends Partial<SettleInput> {
  /** Until when the breaker was open, as the attempt was admitted. */
  readonly openUntil?: number;
  readonly tellsOfFailing?: boolean;
  readonly attemptKey?: string;
}

async function arrange({ endpoint = buildEndpoint(), isWatched = false } = {}) {
  const time = { now: NOW };
  const admission = buildAdmission({ redis: redis.client, clock: () => time.now });
  opened.push(admission);
  await admission.endpointStore.create(endpoint);
  const asked: string[] = [];
  const releaser = {
    wakeUpAt: (_account: string, _endpoint: string, at: number) => asked.push(`look at ${at - NOW}`),
    grant: (_account: string, _endpoint: string, places: number) => asked.push(`grant ${places}`),
    isWatching: () => isWatched,
  };
  const disable = createDisable(admission);
  const policy = { afterMs: 5 * DAY_MS, failureSpanMs: DAY_MS / 2 };
  const disableFailing = createDisableFailing({ ...admission, disable, policy });
  const settle = createSettle({ ...admission, disable, disableFailing, releaser });

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
      hasEnded: true,
      tellsOfFailing: change.tellsOfFailing ?? false,
      now: time.now,
    });
    if (!effect) throw new Error('Another attempt has gone on.');
    return effect;
  }

  async function end(delivered: boolean, change: AttemptChange = {}) {
    const { openUntil: _open, tellsOfFailing: _tells, attemptKey: _key, ...input } = change;
    const effect = await record(delivered, change);
    return await settle({
      endpoint,
      effect,
      delivered,
      disabledBy: undefined,
      hasEnded: true,
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
      (await redis.client.zscore(keys.openBreakers, `${endpoint.accountId}/${endpoint.id}`)) !== null,
    readBreaker: () => admission.admissionStore.readBreaker(endpoint.id),
    readEndpoint: () => admission.endpointStore.find(endpoint.accountId, endpoint.id),
  };
}

describe('a success', () => {
  it('means nothing at an endpoint that is well', async () => {
    const { succeed, endpoint, asked, wakeUpDueAt } = await arrange();
    expect(await succeed()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
    expect(await redis.client.exists(keys.breaker(endpoint.id))).toBe(0);
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

  it('closes a breaker that was open, says so, and has all processes look now', async () => {
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
    expect(await readBreaker()).toEqual({ failures: FAILURES_TO_OPEN - 1, openUntil: 0 });
    expect(signals.named('breaker.opened')).toEqual([]);
  });

  it('that is one too many opens the breaker, is announced, and has it looked at when it half-opens', async () => {
    const { fail, readBreaker, signals, asked, endpoint } = await arrange();
    await fail(FAILURES_TO_OPEN);
    expect(await readBreaker()).toEqual({ failures: FAILURES_TO_OPEN, openUntil: NOW + MIN_OPEN_MS });
    expect(asked).toEqual([`look at ${MIN_OPEN_MS}`]);
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
    expect(await readBreaker()).toEqual({ failures: FAILURES_TO_OPEN, openUntil: NOW + MIN_OPEN_MS });
  });

  it.each([
    ['for a thirtieth of the time for which it has failed', 10 * 60_000, 20_000],
    ['for a minute at most', 30 * DAY_MS, MAX_OPEN_MS],
  ])('of a probe keeps it open %s', async (_what, failingForMs, openForMs) => {
    const { fail, failOnce, time, readBreaker } = await arrange();
    await fail(FAILURES_TO_OPEN);
    time.now += failingForMs;
    await failOnce({ openUntil: NOW + MIN_OPEN_MS });
    expect(await readBreaker()).toEqual({ failures: FAILURES_TO_OPEN + 1, openUntil: time.now + openForMs });
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
    expect(asked.at(-1)).toBe(`look at ${MIN_OPEN_MS}`);
  });

  it('waits for some seconds when an attempt at a slow endpoint has failed, and not when it ended well', async () => {
    const { failOnce, succeed, concurrency, endpoint, asked } = await arrange({ isWatched: true });
    const place = await concurrency.enter(endpoint, false, false);
    if (typeof place === 'object') {
      concurrency.leave(place, { outcome: 'response_timeout', durationMs: 15_000 });
    }
    await failOnce();
    await succeed();
    expect(asked).toEqual(['look at 5000', 'grant 2']);
  });

  it.each([
    [true, ['look at 0']],
    [false, []],
  ])('goes one at a time where there is an order, when one has ended: %s', async (hasEnded, expected) => {
    const { failOnce, asked } = await arrange({ endpoint: buildEndpoint({ ordering: 'strict' }) });
    await failOnce({ hasWaited: true, hasEnded });
    expect(asked).toEqual(expected);
  });

  it('for the rate limit is looked at when the attempt does not count any more', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    const { succeed, asked } = await arrange({ endpoint });
    await succeed({ attemptKey: 'a' });
    expect(asked).toEqual([]);
    await redis.client.set(keys.rateWaiting(endpoint.id), '1');
    await succeed({ attemptKey: 'b' });
    expect(asked).toEqual(['look at 1001']);
  });
});

describe('an endpoint that has failed for too long', () => {
  // Created in days long past, and failing for a day.
  async function arrangeFailing(change: Partial<Endpoint> = {}) {
    const arranged = await arrange({ endpoint: buildEndpoint({ createdAt: NOW - 50 * DAY_MS, ...change }) });
    await redis.client.set(keys.breaker(arranged.endpoint.id), `1 0 ${NOW - DAY_MS} 0`);
    return arranged;
  }

  it('is disabled by the next failure, which says so', async () => {
    const { failOnce, readEndpoint } = await arrangeFailing();
    expect(await failOnce()).toEqual({ disabledAs: 'failing', recoveredFrom: undefined });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: 'failing' });
  });

  it('is disabled once, however many attempts fail at the same time', async () => {
    const { failOnce, signals } = await arrangeFailing();
    const settled = await Promise.all(Array.from({ length: 8 }, () => failOnce()));
    expect(settled.filter(({ disabledAs }) => disabledAs === 'failing')).toHaveLength(1);
    expect(signals.named('endpoint.disabled')).toHaveLength(1);
  });

  it('is not disabled while its last success is not long ago', async () => {
    const { failOnce, readEndpoint, healthStore, endpoint } = await arrangeFailing();
    await healthStore.add(
      endpoint.id,
      tallyOf({ delivered: true, at: NOW - 2 * DAY_MS, durationMs: 40 }),
      NOW,
    );
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
    await failOnce({ tellsOfFailing: true });
    await fail(FAILURES_TO_OPEN);
    const settled = await Promise.all([succeed(), succeed()]);
    expect(settled.map(({ recoveredFrom }) => recoveredFrom).toSorted()).toEqual([NOW, undefined]);
  });

  it('is none where the account was told of nothing', async () => {
    const { fail, succeed } = await arrange();
    await fail(3);
    expect(await succeed()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
  });
});

it('leaves a place in the order to the next one with the attempt’s record', async () => {
  const endpoint = buildEndpoint({ ordering: 'strict' });
  const { attemptStore, admissionStore } = await arrange({ endpoint });
  const delivery = { eventId: uniqueEventId(), endpointId: endpoint.id };
  await admissionStore.joinOrder(endpoint.id, [{ eventId: delivery.eventId, acceptedAt: NOW }]);
  const attempt = {
    delivery,
    fact: { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined, isAborted: false },
    logLength: 0,
    acceptedAt: NOW,
    openUntil: 0,
    attemptKey: undefined,
    tellsOfFailing: false,
    now: NOW,
  } as const;
  await attemptStore.record({ ...attempt, hasEnded: true });
  expect((await admissionStore.stand(endpoint.id, undefined)).next).toBeUndefined();
});

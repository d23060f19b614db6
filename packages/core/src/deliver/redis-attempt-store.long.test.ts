import { MAX_ANSWER_BYTES } from '../domain/attempt';
import { CLOSED, FAILURES_TO_OPEN, MAX_OPEN_MS, MIN_OPEN_MS, OPEN_SHARE } from '../domain/breaker';
import type { AttemptedFact } from '../domain/delivery-fact';
import { keys } from '../domain/keys';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { createClosables } from '../testing/closables';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import {
  type AttemptRecord,
  AttemptStore,
  type OtherRecords,
  type SharedRecord,
} from './redis-attempt-store';

type Mark = SharedRecord['deliveries'][number];

const NOW = 1_700_000_000_000;
const ACCEPTED_AT = NOW - 60_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const failure: AttemptedFact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW + 5_000 };
const success: AttemptedFact = {
  kind: 'attempted',
  attempt: buildAcceptedAttempt(),
  nextAttemptAt: undefined,
};

const LATER_LINE = '{"q":"rdl_1","g":"manual","t":1}\n';

function by(fact: AttemptedFact, worker: string): AttemptedFact {
  return { ...fact, attempt: { ...fact.attempt, worker } };
}

/** A delivery that is on no list yet, of an endpoint that is well. */
function arrange(client = redis.client) {
  const attemptStore = new AttemptStore(testRetention);
  const deliveryStore = new DeliveryStore(client, testRetention);
  const admissionStore = new AdmissionStore(client);
  const delivery = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
  const { endpointId, eventId } = delivery;

  /** To the end of the log, as it is now. */
  async function record(change: Partial<AttemptRecord> = {}) {
    const { length } = await deliveryStore.readWithLength(endpointId, change.delivery?.eventId ?? eventId);
    return await attemptStore.record({
      delivery,
      fact: failure,
      logLength: length,
      acceptedAt: ACCEPTED_AT,
      openUntil: 0,
      attemptKey: undefined,
      notifiesOfFailing: false,
      now: NOW,
      ...change,
    })(client);
  }

  return {
    delivery,
    deliveryStore,
    admissionStore,
    record,
    fail: (change: Partial<AttemptRecord> = {}) => record(change),
    succeed: (change: Partial<AttemptRecord> = {}) => record({ fact: success, ...change }),
    /** So many failures in a row, of which the first was then. */
    async failTimes(count: number, since = NOW) {
      await client.set(keys.breaker(endpointId), `${count} 0 ${since} 0`);
    },
    readState: async () => (await deliveryStore.readWithLength(endpointId, eventId)).state,
    readBreaker: () => admissionStore.readBreaker(endpointId),
    /** All that there is of the endpoint. */
    async dump() {
      const names = (await client.keys(`*${endpointId}*`)).toSorted();
      return await Promise.all(names.map(async (name) => [name, await client.dump(name)]));
    },
  };
}

describe('a recorded attempt', () => {
  it('is recorded and counted in one step', async () => {
    const { fail, readState, readBreaker } = arrange();
    expect(await fail()).toEqual({
      failures: 1,
      openedUntil: undefined,
      failingSince: NOW,
      hasClosed: false,
      recoveredFrom: undefined,
      isRateWaitedFor: false,
    });
    expect(await readState()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + 5_000,
      attempts: [failure.attempt],
    });
    expect(await readBreaker()).toMatchObject({ failures: 1, openUntil: 0 });
  });

  it('leaves no trace but its record at an endpoint that is well, when it succeeds', async () => {
    const { succeed, delivery, readState } = arrange();
    expect(await succeed()).toEqual({
      failures: 0,
      openedUntil: undefined,
      failingSince: undefined,
      hasClosed: false,
      recoveredFrom: undefined,
      isRateWaitedFor: false,
    });
    expect(await readState()).toMatchObject({ status: 'delivered' });
    const { endpointId, eventId } = delivery;
    expect((await redis.client.keys(`*${endpointId}*`)).toSorted()).toEqual([
      keys.delivery(endpointId, eventId),
    ]);
  });

  // ioredis sends it again when the connection breaks before the reply comes.
  describe('that is sent again as it was', () => {
    it.each<[string, Partial<AttemptRecord>, number]>([
      ['a failure', {}, 0],
      ['a failure that opens the breaker', {}, FAILURES_TO_OPEN - 1],
      ['a success', { fact: success }, 0],
      ['a probe that succeeds', { fact: success, openUntil: NOW - 1 }, FAILURES_TO_OPEN],
    ])('is recorded once, and has the same effect: %s', async (_what, change, failuresBefore) => {
      const { record, failTimes, dump, delivery } = arrange();
      if (failuresBefore > 0) await failTimes(failuresBefore, NOW - 1_000);
      if (change.openUntil) {
        const open = `${failuresBefore} ${change.openUntil} ${NOW - 1_000} 0`;
        await redis.client.set(keys.breaker(delivery.endpointId), open);
      }
      const effect = await record({ ...change, logLength: 0 });
      const before = await dump();
      expect(await record({ ...change, logLength: 0 })).toEqual(effect);
      expect(await dump()).toEqual(before);
    });

    it('is recorded once, though others have appended to its log since', async () => {
      const { record, fail, deliveryStore, delivery, dump } = arrange();
      const effect = await record({ logLength: 0 });
      const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
      await deliveryStore.append(delivery, { kind: 'requested', ...request });
      await fail({ fact: by(failure, 'another') });
      const before = await dump();
      expect(await record({ logLength: 0 })).toEqual({ ...effect, failures: 2 });
      expect(await dump()).toEqual(before);
    });

    it('is recorded once behind earlier lines, too, without a response that is too long to keep', async () => {
      const { fail, dump, delivery } = arrange();
      await fail({ attemptKey: 'one' });
      await redis.client.set(keys.answerBytes(delivery.endpointId), `${MAX_ANSWER_BYTES} ${NOW}`);
      const attempt = buildAttempt({ number: 2, responseBody: 'much' });
      const logLength = await redis.client.strlen(keys.delivery(delivery.endpointId, delivery.eventId));
      const again = { fact: { ...failure, attempt }, logLength };
      const effect = await fail(again);
      const before = await dump();
      expect(await fail(again)).toEqual(effect);
      expect(effect).toMatchObject({ failures: 2 });
      expect(await dump()).toEqual(before);
    });
  });

  it('is kept for the retention', async () => {
    const { fail, delivery } = arrange();
    await fail();
    const keptMs = await redis.client.pttl(keys.delivery(delivery.endpointId, delivery.eventId));
    expect(keptMs).toBeGreaterThan(testRetention.ageMs - 60_000);
    expect(keptMs).toBeLessThanOrEqual(testRetention.ageMs);
  });

  it('puts a delivery onto its list that is not there, because its fan-out broke off', async () => {
    const { fail, deliveryStore, delivery } = arrange();
    await deliveryStore.enlistAll(
      buildNewDeliveries(uniqueEventId(), [delivery.endpointId], ACCEPTED_AT - 5),
    )(redis.client);
    await fail();
    expect(await deliveryStore.find(delivery)).toMatchObject({ createdAt: ACCEPTED_AT });
  });

  it('does not bring back the list of an endpoint that is gone', async () => {
    const { fail, delivery } = arrange();
    await fail();
    expect(await redis.client.exists(keys.deliveries(delivery.endpointId))).toBe(0);
  });

  it('leaves the place in its list alone that a delivery has', async () => {
    const { fail, deliveryStore, delivery } = arrange();
    await deliveryStore.enlistAll(
      buildNewDeliveries(delivery.eventId, [delivery.endpointId], ACCEPTED_AT - 5),
    )(redis.client);
    await fail();
    expect(await deliveryStore.find(delivery)).toMatchObject({ createdAt: ACCEPTED_AT - 5 });
  });
});

describe('an attempt whose log is another one by now', () => {
  it('is not recorded, and nothing at all follows from it', async () => {
    const { record, fail, succeed, dump, admissionStore, delivery, failTimes } = arrange();
    const { endpointId, eventId } = delivery;
    await failTimes(FAILURES_TO_OPEN - 1);
    const attempt = { rateLimit: 5, attemptKey: 'a', leaseMs: 60_000, hasWaited: true } as const;
    const ordered = { eventId, acceptedAt: ACCEPTED_AT, ordering: 'begin' } as const;
    await admissionStore.admit(endpointId, { ...attempt, ...ordered }, NOW)(redis.client);
    await redis.client.set(keys.rateWaiting(endpointId), '1');
    await fail();
    const before = await dump();
    const late = { logLength: 0, attemptKey: 'a', leavesOrder: true, notifiesOfFailing: true } as const;
    const another = { fact: by(failure, 'another'), ...late, now: NOW + 120_000 };
    expect(await record(another)).toBeUndefined();
    expect(await succeed(late)).toBeUndefined();
    expect(await succeed({ ...late, logLength: 1 })).toBeUndefined();
    expect(await dump()).toEqual(before);
  });

  it('is recorded by one of many at the same time', async () => {
    const { fail, readState, readBreaker } = arrange();
    const effects = await Promise.all(
      Array.from({ length: 20 }, (_none, i) => fail({ fact: by(failure, `worker-${i}`), logLength: 0 })),
    );
    expect(effects.filter((effect) => effect !== undefined)).toHaveLength(1);
    expect((await readState()).attempts).toHaveLength(1);
    expect(await readBreaker()).toMatchObject({ failures: 1 });
  });
});

describe('while Redis is out of memory', () => {
  it('an attempt is refused as a whole, and recorded once there is room', async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    const { fail, succeed, dump, readState } = arrange(client);
    await fail();
    const before = await dump();
    await server.fillUp();
    await expect(succeed({ now: NOW + 1 })).rejects.toThrow('OOM');
    expect(await dump()).toEqual(before);
    await server.makeRoom();
    expect(await succeed({ now: NOW + 1 })).toMatchObject({ failures: 0 });
    expect(await readState()).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });
});

describe('a log whose answers were erased', () => {
  it('gets no answer any more', async () => {
    const { fail, deliveryStore, delivery, readState } = arrange();
    await deliveryStore.eraseAnswersOf(delivery, NOW);
    const attempt = buildAttempt({ responseBody: 'personal', responseHeaders: { server: 'personal' } });
    expect(await fail({ fact: { ...failure, attempt } })).toBeDefined();
    const log = await redis.client.get(keys.delivery(delivery.endpointId, delivery.eventId));
    expect(log).not.toContain('personal');
    expect((await readState()).attempts).toMatchObject([{ outcome: 'http_5xx', responseStatus: 500 }]);
  });

  it('keeps apart from one whose answers were not', async () => {
    const { fail, readState } = arrange();
    await fail();
    await fail({ fact: { ...failure, attempt: buildAttempt({ number: 2, responseBody: 'oh' }) } });
    expect((await readState()).attempts[1]).toMatchObject({ responseBody: 'oh' });
  });
});

describe('the circuit breaker', () => {
  it('opens with the tenth failure in a row, and not before', async () => {
    const { fail, readBreaker } = arrange();
    for (let count = 1; count < FAILURES_TO_OPEN; count += 1) {
      expect(await fail()).toMatchObject({ failures: count, openedUntil: undefined });
    }
    expect(await fail()).toMatchObject({ failures: 10, openedUntil: NOW + MIN_OPEN_MS });
    expect(await readBreaker()).toMatchObject({ failures: 10, openUntil: NOW + MIN_OPEN_MS });
  });

  it.each([
    ['a second at least', 0, MIN_OPEN_MS],
    ['a second at least', 29_999, MIN_OPEN_MS],
    ['a thirtieth of the time for which its endpoint has failed', 60_000, 60_000 / OPEN_SHARE],
    ['a thirtieth of the time for which its endpoint has failed', 600_000, 600_000 / OPEN_SHARE],
    ['a minute at most', 30 * 60_000, MAX_OPEN_MS],
    ['a minute at most', 5 * 86_400_000, MAX_OPEN_MS],
  ])('is open for %s: after %d ms', async (_what, outageMs, openMs) => {
    const { fail, failTimes } = arrange();
    await failTimes(FAILURES_TO_OPEN - 1, NOW - outageMs);
    expect(await fail()).toMatchObject({ failingSince: NOW - outageMs, openedUntil: NOW + openMs });
  });

  it('takes nothing as new from failures that were under way when it opened', async () => {
    const { fail, readBreaker } = arrange();
    const effects = [];
    for (let count = 0; count < 3 * FAILURES_TO_OPEN; count += 1) {
      effects.push(await fail({ now: NOW + count }));
    }
    expect(effects.filter((effect) => effect?.openedUntil !== undefined)).toHaveLength(1);
    expect(await readBreaker()).toMatchObject({
      failures: FAILURES_TO_OPEN,
      openUntil: NOW + FAILURES_TO_OPEN - 1 + MIN_OPEN_MS,
    });
  });

  it('opens again with a failed probe, though it is open to others while that is under way', async () => {
    const { fail, failTimes, admissionStore, delivery, readBreaker } = arrange();
    await failTimes(FAILURES_TO_OPEN - 1, NOW - 60_000);
    const opened = (await fail())?.openedUntil ?? 0;
    const now = opened + 1;
    const probe = { rateLimit: undefined, attemptKey: 'a', leaseMs: 1_000, hasWaited: true } as const;
    expect(await admissionStore.admit(delivery.endpointId, probe, now)(redis.client)).toEqual({
      kind: 'admitted',
      isProbe: true,
    });
    const failedAt = now + 10_000;
    const openMs = Math.floor((failedAt - (NOW - 60_000)) / OPEN_SHARE);
    expect(await fail({ openUntil: opened, now: failedAt })).toMatchObject({
      failures: FAILURES_TO_OPEN + 1,
      openedUntil: failedAt + openMs,
    });
    expect(await readBreaker()).toMatchObject({ openUntil: failedAt + openMs });
  });

  it('goes on counting a run of failures as one outage', async () => {
    const { fail } = arrange();
    await fail({ now: NOW });
    expect(await fail({ now: NOW + 60_000 })).toMatchObject({ failures: 2, failingSince: NOW });
  });

  it('reads a record of an older version, which does not tell since when', async () => {
    const { fail, delivery } = arrange();
    await redis.client.set(keys.breaker(delivery.endpointId), '4 0');
    expect(await fail()).toMatchObject({ failures: 5, failingSince: NOW, openedUntil: undefined });
  });

  it('is closed by a success that was under way when it opened', async () => {
    const { succeed, failTimes, fail, readBreaker } = arrange();
    await failTimes(FAILURES_TO_OPEN - 1);
    await fail();
    expect(await succeed()).toMatchObject({ failures: 0, hasClosed: true, failingSince: undefined });
    expect(await readBreaker()).toEqual(CLOSED);
  });

  it('has not closed by a success that ends a run too short to open it', async () => {
    const { succeed, fail, readBreaker } = arrange();
    await fail();
    expect(await succeed()).toMatchObject({ hasClosed: false });
    expect(await readBreaker()).toEqual(CLOSED);
  });
});

describe('what an account was told', () => {
  it('is over with the success that ends it, which says since when', async () => {
    const { fail, succeed } = arrange();
    await fail({ now: NOW });
    await fail({ now: NOW + 1, notifiesOfFailing: true });
    await fail({ now: NOW + 2 });
    expect(await succeed()).toMatchObject({ recoveredFrom: NOW });
    expect(await succeed()).toMatchObject({ recoveredFrom: undefined });
  });

  it('is nothing, so nothing is over, when no failure told of it', async () => {
    const { fail, succeed } = arrange();
    await fail();
    expect(await succeed()).toMatchObject({ recoveredFrom: undefined });
  });

  it('is remembered also of a failure that was under way when the breaker opened', async () => {
    const { fail, failTimes, succeed } = arrange();
    await failTimes(FAILURES_TO_OPEN - 1);
    await fail();
    await fail({ notifiesOfFailing: true });
    expect(await succeed()).toMatchObject({ recoveredFrom: NOW });
  });
});

describe('an attempt that is counted for the rate limit', () => {
  it('counts for one second more, by the clock of Redis', async () => {
    const { fail, delivery } = arrange();
    const recent = keys.recentAttempts(delivery.endpointId);
    const lease = 60_000;
    await redis.client.zadd(recent, Date.now() + lease, 'mine');
    const nowMs = async () => {
      const [seconds, micros] = await redis.client.time();
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    };
    const before = await nowMs();
    await fail({ attemptKey: 'mine' });
    const countsUntil = Number(await redis.client.zscore(recent, 'mine'));
    expect(countsUntil).toBeGreaterThanOrEqual(before + 1_000);
    expect(countsUntil).toBeLessThanOrEqual((await nowMs()) + 1_000);
  });

  it('does not count again that has stopped counting', async () => {
    const { fail, delivery } = arrange();
    await fail({ attemptKey: 'gone' });
    expect(await redis.client.exists(keys.recentAttempts(delivery.endpointId))).toBe(0);
  });

  it.each([
    ['', true],
    [' not', false],
  ])('tells whether deliveries are held for it: they are%s', async (_what, isWaitedFor) => {
    const { fail, succeed, delivery } = arrange();
    if (isWaitedFor) await redis.client.set(keys.rateWaiting(delivery.endpointId), '1');
    expect(await fail({ attemptKey: 'mine' })).toMatchObject({ isRateWaitedFor: isWaitedFor });
    expect(await succeed({ attemptKey: 'mine' })).toMatchObject({ isRateWaitedFor: isWaitedFor });
  });
});

describe('what receivers have answered', () => {
  const BODY = 'x'.repeat(4_096);
  const answered = { ...failure, attempt: buildAttempt({ responseBody: BODY }) };

  /**
   * Records so many failures of one endpoint, each of a delivery of its own; gives of how many the answer was
   * kept.
   */
  async function failTogether(built: ReturnType<typeof arrange>, count: number, now = NOW): Promise<number> {
    const { endpointId } = built.delivery;
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const one = { endpointId, eventId: uniqueEventId() };
      await built.fail({ delivery: one, fact: answered, now });
      const { state } = await built.deliveryStore.readWithLength(one.endpointId, one.eventId);
      expect(state.attempts).toHaveLength(1);
      if (state.attempts[0]?.responseBody === BODY) kept += 1;
    }
    return kept;
  }

  it('is kept of an endpoint up to a bound, and attempts without it from then on', async () => {
    const built = arrange();
    const most = Math.floor(MAX_ANSWER_BYTES / BODY.length);
    const kept = await failTogether(built, most + 20);
    expect(kept).toBeGreaterThan(most * 0.95);
    expect(kept).toBeLessThanOrEqual(most);
  });

  it('is kept again of later attempts, as much in the course of the retention as at once', async () => {
    const built = arrange();
    await redis.client.set(keys.answerBytes(built.delivery.endpointId), `${MAX_ANSWER_BYTES} ${NOW}`);
    expect(await failTogether(built, 1, NOW + 1_000)).toBe(0);
    expect(await failTogether(built, 20, NOW + testRetention.ageMs / 100)).toBe(10);
    expect(await failTogether(built, 1, NOW + testRetention.ageMs / 100)).toBe(0);
  });
});

describe('attempts recorded together with that of another delivery', () => {
  function arrangeMany(count: number) {
    const { delivery, deliveryStore, admissionStore, dump } = arrange();
    const { endpointId } = delivery;
    const attemptStore = new AttemptStore(testRetention);
    const deliveries = Array.from({ length: count }, (_, i) => ({
      eventId: uniqueEventId(),
      acceptedAt: ACCEPTED_AT + i,
    }));
    const logOf = (i: number) => keys.delivery(endpointId, deliveries[i]?.eventId ?? uniqueEventId());
    return {
      endpointId,
      deliveries,
      deliveryStore,
      admissionStore,
      dump,
      logOf,
      enlist: () =>
        deliveryStore.enlistAll([
          {
            endpointId,
            marks: deliveries.map(({ eventId, acceptedAt }) => ({ eventId, createdAt: acceptedAt })),
          },
        ])(redis.client),
      statesOf: async () =>
        await Promise.all(
          deliveries.map(
            async ({ eventId }) => (await deliveryStore.readWithLength(endpointId, eventId)).state,
          ),
        ),
      recordOthers: (records: readonly SharedRecord[], change: Partial<OtherRecords> = {}) =>
        attemptStore.recordOthers({
          endpointId,
          records,
          attemptKeys: [],
          mustBeListed: false,
          now: NOW,
          ...change,
        })(redis.client),
    };
  }

  const answered = { ...failure, attempt: { ...failure.attempt, responseBody: 'not now' } };
  const sharedBy = (
    deliveries: SharedRecord['deliveries'],
    change: Partial<SharedRecord> = {},
  ): SharedRecord => ({
    fact: success,
    logLength: 0,
    deliveries,
    ...change,
  });

  it('are recorded, each in its own log, by the line that they share, and say nothing of the receiver', async () => {
    const { deliveries, statesOf, recordOthers, admissionStore, endpointId } = arrangeMany(3);
    const [first, ...others] = deliveries;
    const failed = { fact: failure, deliveries: first ? [first] : [] };
    expect(await recordOthers([sharedBy(others), sharedBy([], failed)])).toEqual([]);
    const [failing, ...delivered] = await statesOf();
    expect(failing).toMatchObject({ status: 'pending', attempts: [failure.attempt] });
    for (const state of delivered) expect(state).toMatchObject({ status: 'delivered' });
    expect(await admissionStore.readBreaker(endpointId)).toEqual(CLOSED);
  });

  it('are appended to logs that have other lines', async () => {
    const { deliveries, statesOf, recordOthers, logOf } = arrangeMany(2);
    await recordOthers([sharedBy(deliveries, { fact: failure })]);
    const logLength = await redis.client.strlen(logOf(0));
    expect(await recordOthers([sharedBy(deliveries, { logLength })])).toEqual([]);
    for (const { attempts } of await statesOf()) expect(attempts).toEqual([failure.attempt, success.attempt]);
  });

  it.each([
    ['another line was appended', 0],
    ['its log has expired', 5],
  ])('are not recorded when %s, none of them, and it is told of which', async (_, logLength) => {
    const { deliveries, recordOthers, logOf, dump } = arrangeMany(3);
    const [first, second, third] = deliveries as [Mark, Mark, Mark];
    if (logLength === 0) await redis.client.set(logOf(1), 'a line of another worker\n');
    const before = await dump();
    const records = [sharedBy([first, third]), sharedBy([second], { logLength })];
    expect(await recordOthers(records)).toEqual([second.eventId]);
    expect(await dump()).toEqual(before);
  });

  it('are recorded once when the script comes again', async () => {
    const { deliveries, recordOthers, dump, endpointId, logOf } = arrangeMany(3);
    const withAnswers = [sharedBy(deliveries, { fact: answered })];
    await recordOthers(withAnswers);
    await redis.client.append(logOf(1), LATER_LINE);
    const before = await dump();
    expect(await recordOthers(withAnswers)).toEqual([]);
    expect(await dump()).toEqual(before);
    expect(await redis.client.get(keys.answerBytes(endpointId))).not.toBeNull();
  });

  it('are not recorded where one is in no list, if that says that it has moved; and enlist those that are missing', async () => {
    const { deliveries, recordOthers, enlist, endpointId } = arrangeMany(2);
    const [first, second] = deliveries as [Mark, Mark];
    await enlist();
    await redis.client.zrem(keys.deliveries(endpointId), second.eventId);
    expect(await recordOthers([sharedBy(deliveries)], { mustBeListed: true })).toEqual([second.eventId]);
    expect(await recordOthers([sharedBy(deliveries)])).toEqual([]);
    const list = await redis.client.zrange(keys.deliveries(endpointId), '0', '-1');
    expect(list).toEqual([first.eventId, second.eventId]);
  });

  it('leave out responses where there are too many, and where they were erased', async () => {
    const { deliveries, recordOthers, logOf, statesOf, endpointId, deliveryStore } = arrangeMany(2);
    const [first, second] = deliveries as [Mark, Mark];
    await deliveryStore.eraseAnswersOf({ endpointId, eventId: first.eventId }, NOW);
    const erased = { logLength: await redis.client.strlen(logOf(0)), fact: answered };
    const full = { fact: answered };
    await redis.client.set(keys.answerBytes(endpointId), `${MAX_ANSWER_BYTES} ${NOW}`);
    await recordOthers([sharedBy([first], erased), sharedBy([second], full)]);
    for (const { attempts } of await statesOf())
      expect(attempts.map(({ responseBody }) => responseBody)).toEqual([undefined]);
  });

  it('keep counting for the rate limit for a second when they have ended', async () => {
    const { deliveries, recordOthers, endpointId } = arrangeMany(2);
    await redis.client.zadd(keys.recentAttempts(endpointId), NOW + 60_000, 'one', NOW + 60_000, 'two');
    await recordOthers([sharedBy(deliveries)], { attemptKeys: ['one', 'gone'] });
    const counted = await redis.client.zrange(keys.recentAttempts(endpointId), '0', '-1');
    expect(counted.toSorted()).toEqual(['one', 'two']);
    const until = Number(await redis.client.zscore(keys.recentAttempts(endpointId), 'one'));
    expect(until).toBeGreaterThan(NOW + 60_000);
  });
});

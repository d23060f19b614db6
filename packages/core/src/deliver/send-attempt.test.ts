import { CLOSED } from '../domain/breaker';
import { keys } from '../domain/keys';
import type { SendResult, SentResult } from '../domain/transport';
import {
  type Arrangement,
  DeliveryScene,
  disabledEndpoint,
  learn,
  NOW,
  refused,
  responded,
  SCHEDULE,
  takePermit,
  unsent,
} from '../testing/arrange-delivery';
import { buildAdmission, MAX_UNKNOWN } from '../testing/build-admission';
import { buildEndpoint } from '../testing/build-endpoint';
import { uniqueEndpointId } from '../testing/unique-ids';
import { type Permit, SLOW_MS } from './flow/concurrency';
import { classifyResult, holdsOf, readReceiverWish } from './send-attempt';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

describe('a delivery that could not leave us', () => {
  it('comes again soon: it was no attempt, and no failure of the endpoint', async () => {
    const { deliver, readRecord, readBreaker, run, signals } = await scene.arrange({
      results: [unsent, responded(204)],
    });
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 5_000 });
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await readBreaker()).toEqual(CLOSED);
    expect(signals.named('delivery.attempted')).toEqual([]);
    expect(signals.named('delivery.unsent')).toEqual([
      { name: 'delivery.unsent', eventId: run.eventId, endpointId: run.endpointId, error: unsent.error },
    ]);

    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('has its permit back', async () => {
    const { deliver, freePermits } = await scene.arrange({ results: [unsent] });
    const before = freePermits();
    await deliver();
    expect(freePermits()).toBe(before);
  });

  it("lets another one have its endpoint's probe at once", async () => {
    const { deliver, readBreaker, run } = await scene.arrange({ results: [unsent] });
    await scene.openBreaker(run.endpointId, NOW);
    const before = await readBreaker();
    expect(await deliver()).toMatchObject({ kind: 'later' });
    expect(await readBreaker()).toEqual(before);
  });

  it("leaves its place within its endpoint's rate limit to another one a second later", async () => {
    const { deliver, run } = await scene.arrange({
      endpoint: buildEndpoint({ rateLimit: 5 }),
      results: [unsent],
    });
    await deliver();
    const recent = await scene.redis.client.zrange(
      keys.recentAttempts(run.endpointId),
      '0',
      '-1',
      'WITHSCORES',
    );
    const countsUntil = Number(recent[1]);
    // By the clock of Redis.
    const [seconds] = await scene.redis.client.time();
    expect(countsUntil).toBeLessThanOrEqual((Number(seconds) + 1) * 1_000 + 1_000);
  });
});

describe('its endpoint', () => {
  it.each([
    ['a success, and as many more', responded(204), 2],
    ['a failure', refused, 1],
  ])('has its permit back after %s', async (_what, result, growth) => {
    const { deliver, freePermits } = await scene.arrange({ results: [result] });
    const before = freePermits();
    await deliver();
    expect(freePermits()).toBe(growth * before);
  });

  it('has its permit back when the transport breaks its promise', async () => {
    const { deliver, freePermits } = await scene.arrange();
    const before = freePermits();
    await expect(deliver()).rejects.toThrow('does not expect');
    expect(freePermits()).toBe(before);
  });
});

describe('an attempt at a slow endpoint', () => {
  it.each<[string, SentResult]>([
    ['was slow to answer', responded(204)],
    ['did not answer', { kind: 'failed', reason: 'response_timeout', error: 'No answer.', timings: {} }],
  ])('leaves its slot to others when the endpoint %s before', async (_what, result) => {
    const capacities: number[] = [];
    const { deliver, run, admission, requests, signals } = await scene.arrange({
      results: [responded(204)],
      whileSending: () => capacities.push(admission.slots.capacity),
    });
    await learn(admission, run.endpointId, {
      outcome: classifyResult(result),
      durationMs: result.kind === 'responded' ? SLOW_MS + 1 : 1,
    });
    const before = admission.slots.capacity;
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect([...capacities, admission.slots.capacity]).toEqual([before + 1, before]);
    expect(signals.named('delivery.moved')).toMatchObject([{ eventId: run.eventId, reason: 'slow' }]);
  });

  it('leaves its slot to others when the endpoint was slow this very moment', async () => {
    const { deliver, requests, moveClock, signals } = await scene.arrange({
      results: [responded(500), responded(500)],
      whileSending: () => moveClock(SLOW_MS),
    });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(signals.named('delivery.moved')).toEqual([]);
    moveClock(SCHEDULE[0]);
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(requests).toHaveLength(2);
    expect(signals.named('delivery.moved')).toMatchObject([{ reason: 'slow' }]);
  });

  it('brings the next ones back among the quick ones by a quick answer', async () => {
    const { deliver, admission, run } = await scene.arrange({ results: [responded(204)] });
    await learn(admission, run.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    expect(await deliver()).toEqual({ kind: 'done' });
    const permit = await takePermit(admission.concurrency, run.endpointId);
    expect(permit).toMatchObject({ slot: { isSlow: false }, isUnknown: false });
    admission.concurrency.releasePermit(permit, undefined);
  });
});

describe('an attempt at an endpoint that nothing is known of', () => {
  it('leaves its slot to others when such attempts hold their share already, until they are done', async () => {
    const results = [responded(500), responded(204)];
    const { deliver, admission, requests, signals } = await scene.arrange({ results });
    const unknownEndpoints = await takeAsUnknown(admission, MAX_UNKNOWN);
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(requests).toHaveLength(1);
    expect(signals.named('delivery.moved')).toMatchObject([{ reason: 'stranger' }]);

    for (const unknownEndpoint of unknownEndpoints)
      admission.concurrency.releasePermit(unknownEndpoint, undefined);
    expect(await countUnknownLetIn(admission)).toBe(MAX_UNKNOWN);
  });

  it('makes room for others however it comes to its end', async () => {
    const ends: Arrangement[] = [
      { results: [responded(204)] },
      { results: [refused] },
      { results: [unsent] },
      { results: [] },
      { endpoint: disabledEndpoint() },
    ];
    for (const end of ends) {
      const { deliver, admission } = await scene.arrange(end);
      await deliver().catch(() => {});
      expect(await countUnknownLetIn(admission)).toBe(MAX_UNKNOWN);
    }
    const { deliver, admission, run } = await scene.arrange();
    await scene.takeEveryPermit(admission, run.endpointId);
    const left = MAX_UNKNOWN - 2;
    await deliver();
    expect(await countUnknownLetIn(admission)).toBe(left);
  });
});

describe('where deliveries take turns by their jobs', () => {
  const strictEndpoint = () => buildEndpoint({ ordering: 'strict' });

  it('the turn is kept when the request could not leave us', async () => {
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), results: [unsent], form: 'former' });
    const { stays, isTurnKept } = await scene.giveTurn(arranged);
    expect(await arranged.deliver()).toEqual({ kind: 'later', delayMs: 5_000 });
    expect(await stays()).toBe(true);
    expect(await isTurnKept()).toBe(true);
  });

  it('the turn is kept when the attempt is interrupted', async () => {
    const stop = new AbortController();
    const arranged = await scene.arrange({
      endpoint: strictEndpoint(),
      form: 'former',
      results: [refused],
      whileSending: () => stop.abort(),
    });
    const { stays, isTurnKept } = await scene.giveTurn(arranged);
    expect(await arranged.deliver(stop.signal)).toEqual({ kind: 'interrupted' });
    expect(await stays()).toBe(true);
    expect(await isTurnKept()).toBe(true);
  });
});

describe('an attempt that this process has to let go of', () => {
  it('records nothing, so that it starts again', async () => {
    const stop = new AbortController();
    const interrupted: SendResult = {
      kind: 'failed',
      reason: 'network_error',
      error: 'interrupted',
      timings: {},
    };
    const { deliver, readRecord, signals } = await scene.arrange({
      results: [interrupted, responded(204)],
      whileSending: () => stop.abort(),
    });
    expect(await deliver(stop.signal)).toEqual({ kind: 'interrupted' });
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(signals.named('delivery.attempted')).toEqual([]);

    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('counts when the answer came nonetheless', async () => {
    const stop = new AbortController();
    const { deliver, readRecord } = await scene.arrange({
      results: [responded(204)],
      whileSending: () => stop.abort(),
    });
    expect(await deliver(stop.signal)).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
  });
});

describe("a job that may be another worker's by now", () => {
  it('sends nothing once another worker may own it, and records nothing', async () => {
    const { deliver, requests, readRecord, signals, freePermits } = await scene.arrange({
      job: { ownedUntil: NOW },
    });
    const before = freePermits();
    expect(await deliver()).toEqual({ kind: 'interrupted' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(freePermits()).toBe(before);
    expect(signals.named('delivery.attempted')).toEqual([]);
  });

  it('is sent for as long as it is ours', async () => {
    const { deliver, requests } = await scene.arrange({
      job: { ownedUntil: NOW + 1 },
      results: [responded(204)],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
  });

  it('gives back the probe that it was admitted as when it sends nothing', async () => {
    const { deliver, readBreaker, run } = await scene.arrange({ job: { ownedUntil: NOW } });
    await scene.openBreaker(run.endpointId, NOW);
    const before = await readBreaker();
    expect(await deliver()).toEqual({ kind: 'interrupted' });
    expect(await readBreaker()).toEqual(before);
  });
});

type Admission = ReturnType<typeof buildAdmission>;

async function takeAsUnknown({ concurrency }: Admission, count: number): Promise<Permit[]> {
  return await Promise.all(Array.from({ length: count }, () => takePermit(concurrency, uniqueEndpointId())));
}

/** How many attempts at endpoints that nothing is known of may begin without leaving their slots. */
async function countUnknownLetIn(admission: Admission): Promise<number> {
  const permits = await takeAsUnknown(admission, MAX_UNKNOWN + 1);
  for (const permit of permits) admission.concurrency.releasePermit(permit, undefined);
  return permits.filter(({ isOfUnknown }) => isOfUnknown).length;
}

describe('what a result means', () => {
  const NOTHING = { aborts: false, disabledBy: undefined };

  const resultOf = (status: number, wish?: string): SentResult => ({
    kind: 'responded',
    status,
    retryAfter: undefined,
    wish,
    body: '',
    timings: {},
  });

  describe('classifyResult', () => {
    it.each([
      [200, 'delivered'],
      [201, 'delivered'],
      [204, 'delivered'],
      [226, 'delivered'],
      [299, 'delivered'],
      [100, 'http_1xx'],
      [101, 'http_1xx'],
      [199, 'http_1xx'],
      [300, 'http_3xx'],
      [301, 'http_3xx'],
      [302, 'http_3xx'],
      [304, 'http_3xx'],
      [399, 'http_3xx'],
      [400, 'http_4xx'],
      [404, 'http_4xx'],
      [410, 'http_4xx'],
      [429, 'http_4xx'],
      [499, 'http_4xx'],
      [500, 'http_5xx'],
      [503, 'http_5xx'],
      [599, 'http_5xx'],
      [0, 'protocol_error'],
      [99, 'protocol_error'],
      [600, 'protocol_error'],
      [999, 'protocol_error'],
    ])('classifies a response with status %d as %s', (status, outcome) => {
      expect(classifyResult(resultOf(status))).toBe(outcome);
    });

    it.each(['dns_error', 'connect_refused', 'response_timeout', 'tls_error'] as const)(
      'takes the reason %s of a failure as it is',
      (reason) => {
        expect(classifyResult({ kind: 'failed', reason, error: 'why', timings: {} })).toBe(reason);
      },
    );
  });

  describe('a receiver that does not accept', () => {
    it.each([
      [422, 'abort', { aborts: true, disabledBy: undefined }],
      [500, 'Abort', { aborts: true, disabledBy: undefined }],
      [302, ' ABORT ', { aborts: true, disabledBy: undefined }],
      [404, 'disable', { aborts: false, disabledBy: 'receiver' }],
      [503, 'abort, Disable', { aborts: true, disabledBy: 'receiver' }],
      [503, 'pause,abort', { aborts: true, disabledBy: undefined }],
      [410, undefined, { aborts: false, disabledBy: 'gone' }],
      [410, 'abort', { aborts: true, disabledBy: 'gone' }],
      [410, 'disable', { aborts: false, disabledBy: 'receiver' }],
      [500, undefined, NOTHING],
      [500, '', NOTHING],
      [500, 'pause', NOTHING],
      [500, 'aborted', NOTHING],
      [500, 'abort disable', NOTHING],
    ])('with %i and "%s" wishes %j', (status, wish, expected) => {
      expect(readReceiverWish(resultOf(status, wish), false)).toEqual(expected);
    });
  });

  describe('a receiver that accepts', () => {
    it('can not abort what was delivered', () => {
      expect(readReceiverWish(resultOf(204, 'abort'), true)).toEqual(NOTHING);
    });

    it('can disable its endpoint', () => {
      expect(readReceiverWish(resultOf(200, 'disable'), true)).toEqual({
        aborts: false,
        disabledBy: 'receiver',
      });
    });
  });

  it('nothing is wished without a response', () => {
    const failed: SentResult = { kind: 'failed', reason: 'dns_error', error: 'no', timings: {} };
    expect(readReceiverWish(failed, false)).toEqual(NOTHING);
  });
});

describe('the holds of an attempt', () => {
  const disabled = { reason: 'disabled', since: NOW } as const;
  const busy = { reason: 'busy', since: NOW + 5_000 } as const;

  it.each([
    ['are none of a delivery that was not held', undefined, undefined, 9_000, undefined],
    ['are those of its job', [disabled, busy], undefined, 9_000, [disabled, busy]],
    ['leave out those before the former attempt', [disabled, busy], NOW + 2_000, 9_000, [busy]],
    ['are none where all came before the former attempt', [disabled], NOW + 2_000, 9_000, undefined],
    ['are none of less than a second', [disabled], undefined, 999, undefined],
  ])('%s', async (_what, holds, previousStartedAt, afterMs, expected) => {
    const { run } = await scene.arrange();
    expect(holdsOf({ run: { ...run, holds }, previousStartedAt }, NOW + afterMs)).toEqual(expected);
  });
});

it('tells by its start which timestamp was signed, however long the signature took', async () => {
  const endpoint = buildEndpoint({ signing: 'both' });
  const { deliver, requests, readRecord } = await scene.arrange({
    endpoint,
    results: [responded(204)],
    signingMs: 1_500,
  });
  await deliver();
  expect(await readRecord()).toMatchObject({ attempts: [{ startedAt: NOW }] });
  expect(requests[0]?.headers['webhook-timestamp']).toBe(String(Math.floor(NOW / 1_000)));
});

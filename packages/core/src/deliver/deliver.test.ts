import { verify } from '@hookferry/receiver';
import type { Attempt } from '../domain/attempt';
import { CLOSED, FAILURES_TO_OPEN, MIN_OPEN_MS } from '../domain/breaker';
import { type DeliveryRun, deliveryIdOf } from '../domain/delivery';
import type { AttemptedFact, DeliveryFact } from '../domain/delivery-log';
import { type Endpoint, type EndpointId, newestSecret } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE } from '../domain/queues';
import type { EndedAttempt } from '../endpoints/health/attempt-tally';
import { createRedisEndpointStore, type EndpointStore } from '../endpoints/redis-endpoint-store';
import { secretUnreadable } from '../endpoints/seal';
import type { ArchiveRecord, ArchiveStream } from '../events/archive/redis-archive-stream';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { storageUnavailable } from '../platform/redis-connect';
import { openQueue } from '../queue/bullmq-on-demand-queue';
import { buildAdmission, MAX_UNKNOWN } from '../testing/build-admission';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { readHeld } from '../testing/read-held';
import { recordRaised } from '../testing/record-raised';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueEndpointId } from '../testing/unique-ids';
import { judgeResult } from './decide-next';
import { createDeliver } from './deliver';
import { type Concurrency, type Place, SLOW_MS } from './flow/concurrency';
import type { DeliveryRequest, SendResult, SentResult } from './transport';

const NOW = 1_700_000_060_000;
const SEND_MS = 40;
const SCHEDULE = [5_000, 300_000] as const;
const HELD_FOR_MS = 3_600_000;
const HELD = { kind: 'later', delayMs: HELD_FOR_MS } as const;

let redis: TestRedis;
let endpointStore: EndpointStore;
let eventStore: EventStore;
let deliveryStore: DeliveryStore;
beforeAll(async () => {
  redis = await openTestRedis();
  endpointStore = createRedisEndpointStore(redis.client, testSealer);
  eventStore = new EventStore(redis.client, testRetention);
  deliveryStore = new DeliveryStore(redis.client, testRetention);
});
afterAll(() => redis.close());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function answered(
  status: number,
  change: Partial<Extract<SendResult, { kind: 'answered' }>> = {},
): SentResult {
  return {
    kind: 'answered',
    status,
    retryAfter: undefined,
    wish: undefined,
    body: '',
    timings: {},
    ...change,
  };
}
const refused: SendResult = {
  kind: 'failed',
  reason: 'connect_refused',
  error: 'connect ECONNREFUSED',
  timings: {},
};

const unsent: Extract<SendResult, { kind: 'unsent' }> = {
  kind: 'unsent',
  error: 'The proxy could not be used (ECONNREFUSED).',
};

interface Arrangement {
  /** What the receiver gives to one request after the other. */
  readonly results?: SendResult[];
  readonly endpoint?: Endpoint | 'deleted';
  readonly event?: 'expired';
  /** The event's type. */
  readonly type?: string;
  /** What is on record of the delivery already. */
  readonly log?: readonly DeliveryFact[];
  readonly job?: Partial<Pick<DeliveryRun, 'hasWaited' | 'wasTakenOver' | 'ownedUntil' | 'request'>>;
  readonly random?: number;
  /** How often what follows from an attempt is refused. */
  readonly refusals?: number;
  readonly refusal?: Error;
  /** Where attempts go on their way to the archive, if there is one. */
  readonly archiveStream?: Pick<ArchiveStream, 'add'>;
  /** How often the record of an attempt is refused, as by a Redis that is out of memory. */
  readonly recordRefusals?: number;
  /** Happens between reading the record and sending. */
  readonly whileAdmitting?: (input: DeliveryRun) => unknown;
  /** Happens while a request is under way. */
  readonly whileSending?: (input: DeliveryRun) => unknown;
}

/** A delivery that is ready to go, and a receiver that remembers its requests. */
async function arrange({
  results = [],
  log = [],
  random = 0,
  job = {},
  type = 'keyword.quick_win',
  refusals = 0,
  refusal = storageUnavailable(new Error('OOM')),
  recordRefusals = 0,
  archiveStream,
  whileAdmitting,
  whileSending,
  ...given
}: Arrangement = {}) {
  const endpoint =
    given.endpoint === undefined || given.endpoint === 'deleted' ? buildEndpoint() : given.endpoint;
  const event: AcceptedEvent = buildEvent({ accountId: endpoint.accountId, acceptedAt: NOW - 1_000, type });
  const input: DeliveryRun = {
    accountId: event.accountId,
    eventId: event.id,
    endpointId: endpoint.id,
    hasWaited: false,
    wasTakenOver: false,
    ownedUntil: Number.POSITIVE_INFINITY,
    ...job,
  };
  if (given.endpoint !== 'deleted') await endpointStore.create(endpoint);
  if (given.event !== 'expired') await eventStore.save(event);
  await deliveryStore.enlist(event.id, [endpoint.id], event.acceptedAt);
  for (const fact of log) await deliveryStore.append(input, fact);

  let now = NOW;
  const requests: DeliveryRequest[] = [];
  const signals = recordSignals();
  const raised = recordRaised();
  const recorded: [EndpointId, EndedAttempt][] = [];
  const clock = () => now;
  const admission = willClose(buildAdmission({ redis: redis.client, clock, signals }));
  let settled = 0;
  let recordings = 0;
  let admissions = 0;
  const deliver = createDeliver({
    ...admission,
    async admit(request) {
      admissions += 1;
      if (admissions === 1) await whileAdmitting?.(input);
      return await admission.admit(request);
    },
    attemptStore: {
      async record(attempt) {
        recordings += 1;
        if (recordings <= recordRefusals) throw storageUnavailable(new Error('OOM'));
        return await admission.attemptStore.record(attempt);
      },
    },
    async settle(outcome) {
      settled += 1;
      if (settled <= refusals) throw refusal;
      return await admission.settle(outcome);
    },
    eventStore,
    endpointStore,
    deliveryStore,
    archiveStream,
    raise: raised.raise,
    healthRecorder: { record: (id, attempt) => void recorded.push([id, attempt]) },
    retrySchedule: SCHEDULE,
    workerId: 'f00d42',
    requestStyle: {
      userAgent: 'hooks/1.2',
      signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
    },
    clock,
    random: () => random,
    emit: signals.listen,
    async transport(request) {
      requests.push(request);
      now += SEND_MS;
      await whileSending?.(input);
      const result = results.shift();
      if (!result) throw new Error('A request that the test does not expect.');
      return result;
    },
  });
  return {
    endpoint,
    event,
    input,
    requests,
    signals,
    recorded,
    raised,
    admission,
    moveClock(ms: number) {
      now += ms;
    },
    deliver: (signal = new AbortController().signal) => deliver(input, signal),
    readRecord: () => deliveryStore.find(input),
    readBreaker: () => admission.admissionStore.readBreaker(endpoint.id),
    isHeld: () => admission.heldDeliveries.isHeld(endpoint.id, event.id),
    log: () => redis.client.get(keys.delivery(endpoint.id, event.id)),
  };
}

describe('a delivery that is accepted', () => {
  it('is sent to the endpoint, signed, with the bytes of the event', async () => {
    const { deliver, requests, endpoint, event } = await arrange({ results: [answered(204)] });
    await deliver();
    expect(requests).toMatchObject([
      {
        url: endpoint.url,
        body: event.body,
        headers: { 'webhook-id': event.id, 'x-service-attempt': '1', 'user-agent': 'hooks/1.2' },
      },
    ]);
    const { headers = {}, body = '' } = requests[0] ?? {};
    const { secret } = newestSecret(endpoint);
    expect(await verify({ secret, headers, body, now: NOW / 1_000 })).toMatchObject({ id: event.id });
  });

  it('is done, and on record with its attempt', async () => {
    const { deliver, readRecord } = await arrange({ results: [answered(200, { body: 'thanks' })] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      nextAttemptAt: undefined,
      attempts: [
        {
          number: 1,
          startedAt: NOW,
          durationMs: SEND_MS,
          outcome: 'delivered',
          responseStatus: 200,
          responseBody: 'thanks',
        },
      ],
    });
  });

  it('is announced, with the time since the event was accepted', async () => {
    const { deliver, signals, input, event } = await arrange({ results: [answered(204)] });
    await deliver();
    const ids = { deliveryId: deliveryIdOf(input), eventId: input.eventId, endpointId: input.endpointId };
    expect(signals.named('delivery.attempted')).toEqual([
      {
        name: 'delivery.attempted',
        ...ids,
        accountId: input.accountId,
        type: event.type,
        attempt: 1,
        outcome: 'delivered',
        responseStatus: 204,
        durationMs: SEND_MS,
        firstLagMs: 1_000,
      },
    ]);
    expect(signals.named('delivery.ended')).toEqual([
      {
        name: 'delivery.ended',
        ...ids,
        accountId: input.accountId,
        status: 'delivered',
        lagMs: 1_000 + SEND_MS,
      },
    ]);
  });

  it.each<[string, Arrangement, number | undefined]>([
    ['was held', { job: { hasWaited: true } }, undefined],
    ['was taken over from a worker that died', { job: { hasWaited: true, wasTakenOver: true } }, 1_000],
    [
      'was tried before',
      { log: [{ kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW, isAborted: false }] },
      undefined,
    ],
  ])("tells its lag as the service's doing or not when it %s", async (_what, arrangement, firstLagMs) => {
    const { deliver, signals } = await arrange({ ...arrangement, results: [answered(204)] });
    await deliver();
    expect(signals.named('delivery.attempted').map((signal) => signal.firstLagMs)).toEqual([firstLagMs]);
  });
});

describe('an attempt that fails', () => {
  it.each<[string, SendResult, object]>([
    [
      'a 500',
      answered(500, { body: 'oh' }),
      { outcome: 'http_5xx', responseStatus: 500, responseBody: 'oh' },
    ],
    ['a 404', answered(404), { outcome: 'http_4xx', responseStatus: 404 }],
    ['a redirect', answered(302), { outcome: 'http_3xx', responseStatus: 302 }],
    ['no connection', refused, { outcome: 'connect_refused', error: 'connect ECONNREFUSED' }],
  ])('by %s is on record, and the delivery waits for the next one', async (_what, result, attempt) => {
    const { deliver, readRecord } = await arrange({ results: [result] });
    await deliver();
    expect(await readRecord()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + SEND_MS + 5_000,
      attempts: [{ number: 1, startedAt: NOW, durationMs: SEND_MS, ...attempt }],
    });
  });

  it('is repeated after the delay of the schedule and its jitter', async () => {
    const { deliver } = await arrange({ results: [answered(500)], random: 0.5 });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs: 5_250, reason: 'http_5xx' });
  });

  it.each([
    ['120', 120_000],
    [new Date(NOW + SEND_MS + 60_000).toUTCString(), 60_000 - SEND_MS],
    ['1', 5_000],
    ['garbage', 5_000],
  ])('is repeated no sooner than the receiver asked for: "%s"', async (retryAfter, delayMs) => {
    const { deliver, readRecord } = await arrange({ results: [answered(503, { retryAfter })] });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs, reason: 'http_5xx' });
    expect(await readRecord()).toMatchObject({ nextAttemptAt: NOW + SEND_MS + delayMs });
  });

  it('is announced with the delay, and without an end', async () => {
    const { deliver, signals } = await arrange({ results: [refused] });
    await deliver();
    expect(signals.named('delivery.attempted')).toMatchObject([
      { attempt: 1, outcome: 'connect_refused', nextDelayMs: 5_000 },
    ]);
    expect(signals.named('delivery.ended')).toEqual([]);
  });
});

describe("an attempt counts for its endpoint's health", () => {
  it.each([
    ['as a success', answered(204), true],
    ['as a failure', refused, false],
  ])('%s', async (_what, result, delivered) => {
    const { deliver, recorded, endpoint } = await arrange({ results: [result] });
    await deliver();
    expect(recorded).toEqual([[endpoint.id, { delivered, at: NOW + SEND_MS, durationMs: SEND_MS }]]);
  });
});

describe('the timings of an attempt', () => {
  const timings = { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 };

  it.each<[string, SendResult]>([
    ['accepted', answered(204, { timings })],
    ['failed', { ...refused, timings }],
  ])('that %s are on record, and announced', async (_what, result) => {
    const { deliver, readRecord, signals } = await arrange({ results: [result] });
    await deliver();
    expect(await readRecord()).toMatchObject({ attempts: [{ timings }] });
    expect(signals.named('delivery.attempted')).toMatchObject([timings]);
  });
});

describe('a receiver that asks for the end of a delivery', () => {
  it('is not sent it again: it is aborted, and kept with its attempt', async () => {
    const { deliver, readRecord, signals } = await arrange({ results: [answered(422, { wish: 'abort' })] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({
      status: 'aborted',
      nextAttemptAt: undefined,
      attempts: [{ outcome: 'http_4xx', responseStatus: 422 }],
    });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'aborted' }]);
    expect(await deliver()).toEqual({ kind: 'done' });
  });

  it('has it delivered nonetheless when it accepts it', async () => {
    const { deliver, readRecord } = await arrange({ results: [answered(200, { wish: 'abort' })] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
  });
});

describe('a receiver that asks to be disabled', () => {
  const DISABLED = { status: 'disabled', disabledReason: 'receiver' };

  it('gets nothing any more, and what it did not accept is held', async () => {
    const { deliver, endpoint, isHeld, moveClock } = await arrange({
      results: [answered(500, { wish: 'disable' })],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await endpointStore.find(endpoint.accountId, endpoint.id)).toMatchObject(DISABLED);
    moveClock(SCHEDULE[0]);
    expect(await deliver()).toEqual(HELD);
    expect(await isHeld()).toBe(true);
  });

  it('is disabled also when it accepts', async () => {
    const { deliver, endpoint, readRecord } = await arrange({
      results: [answered(200, { wish: 'disable' })],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
    expect(await endpointStore.find(endpoint.accountId, endpoint.id)).toMatchObject(DISABLED);
  });
});

/** As it is after the failures that open it. */
async function openBreaker(endpointId: EndpointId, openUntil: number): Promise<void> {
  await redis.client.set(keys.breaker(endpointId), `${FAILURES_TO_OPEN} ${openUntil} ${NOW - 1_000} 0`);
}

describe('a delivery that could not leave us', () => {
  it('comes again soon: it was no attempt, and no failure of the endpoint', async () => {
    const { deliver, readRecord, readBreaker, input, signals } = await arrange({
      results: [unsent, answered(204)],
    });
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 5_000 });
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await readBreaker()).toEqual(CLOSED);
    expect(signals.named('delivery.attempted')).toEqual([]);
    expect(signals.named('delivery.unsent')).toEqual([
      { name: 'delivery.unsent', eventId: input.eventId, endpointId: input.endpointId, error: unsent.error },
    ]);

    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('has its place at the endpoint back', async () => {
    const { deliver, admission, input } = await arrange({ results: [unsent] });
    const before = admission.concurrency.freePlaces(input.endpointId);
    await deliver();
    expect(admission.concurrency.freePlaces(input.endpointId)).toBe(before);
  });

  it("lets another one have its endpoint's probe at once", async () => {
    const { deliver, readBreaker, input } = await arrange({ results: [unsent] });
    await openBreaker(input.endpointId, NOW);
    const before = await readBreaker();
    expect(await deliver()).toMatchObject({ kind: 'later' });
    expect(await readBreaker()).toEqual(before);
  });

  it("leaves its place within its endpoint's rate limit to another one a second later", async () => {
    const { deliver, input } = await arrange({
      endpoint: buildEndpoint({ rateLimit: 5 }),
      results: [unsent],
    });
    await deliver();
    const recent = await redis.client.zrange(keys.recentAttempts(input.endpointId), '0', '-1', 'WITHSCORES');
    const countsUntil = Number(recent[1]);
    // By the clock of Redis.
    const [seconds] = await redis.client.time();
    expect(countsUntil).toBeLessThanOrEqual((Number(seconds) + 1) * 1_000 + 1_000);
  });
});

describe('further attempts', () => {
  it('count on, wait longer, and keep what happened before', async () => {
    const { deliver, requests, readRecord, event, moveClock } = await arrange({
      results: [answered(500), refused, answered(204)],
    });
    expect(await deliver()).toMatchObject({ delayMs: 5_000 });
    moveClock(5_000);
    expect(await deliver()).toMatchObject({ delayMs: 300_000 });
    moveClock(300_000);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests.map(({ headers }) => [headers['x-service-attempt'], headers['webhook-id']])).toEqual([
      ['1', event.id],
      ['2', event.id],
      ['3', event.id],
    ]);
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'http_5xx' }, { outcome: 'connect_refused' }, { outcome: 'delivered' }],
    });
  });

  it('are not made before their time, should the job run again after a crash or an error', async () => {
    const { deliver, requests, readRecord, moveClock } = await arrange({
      results: [answered(500), answered(204)],
    });
    await deliver();
    moveClock(1_000);
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 4_000 });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({ attempts: [{ number: 1 }] });

    moveClock(4_000);
    expect(await deliver()).toEqual({ kind: 'done' });
  });

  it('end with the schedule: then the delivery is exhausted, and kept', async () => {
    const { deliver, readRecord, signals, moveClock } = await arrange({
      results: [answered(500), answered(500), answered(500, { retryAfter: '60' })],
    });
    for (const delayMs of SCHEDULE) {
      await deliver();
      moveClock(delayMs);
    }
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'exhausted', nextAttemptAt: undefined });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'exhausted' }]);
  });

  it("follow the endpoint's own schedule, if it has one", async () => {
    const { deliver, readRecord, moveClock } = await arrange({
      endpoint: buildEndpoint({ retrySchedule: [7_000] }),
      results: [answered(500), answered(500)],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: 7_000 });
    moveClock(7_000);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'exhausted' });
  });

  it('go to where the endpoint is by then, signed with the secret that it has by then', async () => {
    const { deliver, requests, endpoint, moveClock } = await arrange({
      results: [answered(500), answered(204)],
    });
    await deliver();
    moveClock(SCHEDULE[0]);
    const moved = {
      ...buildEndpoint(),
      id: endpoint.id,
      accountId: endpoint.accountId,
      url: 'https://new.example.com/',
    };
    await endpointStore.update(endpoint.accountId, endpoint.id, () => moved);
    await deliver();
    const { url, headers = {}, body = '' } = requests[1] ?? {};
    expect(url).toBe(moved.url);
    const { secret } = newestSecret(moved);
    expect(await verify({ secret, headers, body, now: NOW / 1_000 })).toHaveProperty('type');
  });
});

/** Of the breaker's record. */
async function readTold({ id }: Endpoint) {
  const [, , since, told] = ((await redis.client.get(keys.breaker(id))) ?? '').split(' ');
  return { failingSince: Number(since), wasTold: told === '1' };
}

describe('its account', () => {
  const failedThrice: readonly DeliveryFact[] = [1, 2, 3].map((number) => ({
    kind: 'attempted',
    attempt: buildAttempt({ number }),
    nextAttemptAt: NOW,
  }));

  it('is told nothing of an attempt that goes well', async () => {
    const { deliver, raised } = await arrange({ results: [answered(204)] });
    await deliver();
    expect(raised.events).toEqual([]);
  });

  it('is told of the fourth failure, and of the last', async () => {
    const { deliver, raised, endpoint } = await arrange({ results: [refused], log: failedThrice });
    await deliver();
    expect(raised.events.map(({ type }) => type)).toEqual(['webhook.failing', 'delivery.exhausted']);
    expect(await readTold(endpoint)).toEqual({ failingSince: NOW + SEND_MS, wasTold: true });
  });

  it('is told when the receiver says that it is gone', async () => {
    const { deliver, raised, endpoint } = await arrange({ results: [answered(410)] });
    await deliver();
    expect(raised.events).toMatchObject([
      { type: 'webhook.disabled', accountId: endpoint.accountId, data: { reason: 'gone' } },
    ]);
  });

  it('is told when what it was told of is over', async () => {
    const { deliver, raised, endpoint } = await arrange({ results: [answered(204)] });
    await redis.client.set(keys.breaker(endpoint.id), `1 0 ${NOW - 1} 1`);
    await deliver();
    expect(raised.events).toMatchObject([{ type: 'webhook.recovered' }]);
  });

  it('is told nothing of a delivery that was to tell it something', async () => {
    const { deliver, raised, endpoint } = await arrange({
      results: [answered(410)],
      log: failedThrice,
      type: 'webhook.failing',
    });
    await deliver();
    expect(raised.events).toEqual([]);
    expect(await readTold(endpoint)).toMatchObject({ wasTold: false });
  });
});

describe('a delivery that can not be tried any more', () => {
  it('is cancelled when its endpoint was deleted', async () => {
    const { deliver, requests, readRecord, signals } = await arrange({ endpoint: 'deleted' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'cancelled', attempts: [] });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 1_000 }]);
  });

  it('is cancelled when its event has outlived the retention', async () => {
    const { deliver, requests, readRecord, signals } = await arrange({ event: 'expired' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'cancelled' });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 0 }]);
  });

  it("is cancelled when its event's payload was erased, a retry too", async () => {
    const { deliver, requests, event, readRecord, log } = await arrange({
      event: 'expired',
      log: [{ kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW - 1 }],
    });
    // By another process, so that it is in no memory here.
    const other = new EventStore(redis.client, testRetention);
    await other.save(event);
    await other.erasePayload(event.accountId, event.id, NOW);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await log()).toMatch(/{"c":"payload_erased"}\n$/);
    expect(await readRecord()).toMatchObject({ status: 'cancelled', attempts: [{}] });
  });

  it('leaves nothing behind when neither its endpoint nor its event is there, as after the erasure of its account', async () => {
    const { deliver, requests, log, signals } = await arrange({ endpoint: 'deleted', event: 'expired' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await log()).toBeNull();
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
  });
});

// A worker that died between its record and the end of its job, or a fan-out that ran twice.
describe('a delivery that has come to its end before', () => {
  it.each<[string, DeliveryFact]>([
    ['delivered', { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined }],
    ['exhausted', { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined }],
    ['cancelled', { kind: 'cancelled', reason: 'endpoint_deleted' }],
  ])('is not sent again, and stays %s', async (status, fact) => {
    const { deliver, requests, readRecord, signals } = await arrange({ log: [fact] });
    const before = await readRecord();
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toEqual(before);
    expect(before).toMatchObject({ status });
    expect([...signals.named('delivery.attempted'), ...signals.named('delivery.ended')]).toEqual([]);
  });
});

const disabledEndpoint = () => buildEndpoint({ status: 'disabled', disabledReason: 'client' });

describe('a delivery that has to wait', () => {
  it('is held at a disabled endpoint, for as long as nobody releases it, at no cost of attempts', async () => {
    const { deliver, requests, readRecord, isHeld, signals } = await arrange({
      endpoint: disabledEndpoint(),
    });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'disabled' }]);
    expect(signals.named('delivery.attempted')).toEqual([]);
  });

  it('is held once, however often its job comes to its endpoint', async () => {
    const { deliver, admission, input } = await arrange({ endpoint: disabledEndpoint() });
    await deliver();
    await deliver();
    expect(await readHeld(admission.heldDeliveries, input.endpointId)).toEqual([input.eventId]);
  });

  it('is held while the breaker is open, and sent as a probe when its time has come', async () => {
    const { deliver, requests, admission, input, moveClock, readRecord, readBreaker } = await arrange({
      results: [answered(204)],
    });
    await openBreaker(input.endpointId, NOW + MIN_OPEN_MS);
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await admission.heldDeliveries.wakeUpDueAt(input)).toBe(NOW + MIN_OPEN_MS);

    moveClock(MIN_OPEN_MS);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await readBreaker()).toEqual(CLOSED);
  });

  it('is held while others have taken every place at its endpoint', async () => {
    const { deliver, requests, admission, input, isHeld, signals } = await arrange();
    await takeEveryPlace(admission, input);
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'busy' }]);
  });

  it('is held while its endpoint had as many attempts within a second as it wants', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    await (await arrange({ endpoint, results: [answered(204)] })).deliver();
    const { deliver, requests, isHeld, signals } = await arrange({ endpoint });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'rate_limited' }]);
  });

  it('is cancelled rather than held when its endpoint was deleted', async () => {
    const { deliver, admission, input } = await arrange({ endpoint: 'deleted' });
    await deliver();
    expect(await admission.heldDeliveries.count(input.endpointId)).toBe(0);
  });
});

type Admission = ReturnType<typeof buildAdmission>;

async function enter(concurrency: Concurrency, endpointId: EndpointId): Promise<Place> {
  const place = await concurrency.enter({ id: endpointId }, false, false);
  if (typeof place === 'string') throw new Error(`There is no place: ${place}.`);
  return place;
}

async function takeEveryPlace({ concurrency }: Admission, { endpointId }: DeliveryRun): Promise<void> {
  while (concurrency.freePlaces(endpointId) > 0) {
    const place = await enter(concurrency, endpointId);
    willClose({ close: () => concurrency.leave(place, undefined) });
  }
}

/** One that is held behind the delivery, and that only those look for who make room for it. */
async function holdNext({ admission, input, event }: Awaited<ReturnType<typeof arrange>>) {
  const { accountId, endpointId } = input;
  const next = { eventId: buildEvent().id, endpointId };
  const queue = willClose(openQueue(DELIVERIES_QUEUE, { redis: redis.client, prefix: 'bull' }));
  const jobId = deliveryIdOf(next);
  await queue.add('d', { account_id: accountId }, { jobId, delay: HELD_FOR_MS });
  const entry = { eventId: next.eventId, acceptedAt: event.acceptedAt + 1 };
  await admission.heldDeliveries.enter(input, entry, NOW + HELD_FOR_MS, 'busy');
  return {
    entry,
    async untilReleased(): Promise<void> {
      while (!['waiting', 'prioritized'].includes(await queue.getJobState(jobId)));
    },
    /** Whether it stays, also when somebody looks whether it may go. */
    async stays(): Promise<boolean> {
      await admission.wakeUpEndpoint(input, 1);
      return (await queue.getJobState(jobId)) === 'delayed';
    },
  };
}

describe('its endpoint', () => {
  it.each([
    ['a success, and as many more', answered(204), 2],
    ['a failure', refused, 1],
  ])('has its place back after %s', async (_what, result, growth) => {
    const { deliver, admission, input } = await arrange({ results: [result] });
    const before = admission.concurrency.freePlaces(input.endpointId);
    await deliver();
    expect(admission.concurrency.freePlaces(input.endpointId)).toBe(growth * before);
  });

  it('has its place back when the transport breaks its promise', async () => {
    const { deliver, admission, input } = await arrange();
    const before = admission.concurrency.freePlaces(input.endpointId);
    await expect(deliver()).rejects.toThrow('does not expect');
    expect(admission.concurrency.freePlaces(input.endpointId)).toBe(before);
  });

  it('gets the next one after one that had waited', async () => {
    const arranged = await arrange({ results: [answered(204)], job: { hasWaited: true } });
    const { untilReleased } = await holdNext(arranged);
    arranged.admission.releaser.start();
    await arranged.deliver();
    await untilReleased();
    expect(await arranged.admission.heldDeliveries.count(arranged.input.endpointId)).toBe(0);
  });

  it('gets nothing any more, until somebody enables it, when the receiver says that it is gone', async () => {
    const { deliver, endpoint, isHeld, readRecord, moveClock } = await arrange({ results: [answered(410)] });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await endpointStore.find(endpoint.accountId, endpoint.id)).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
    });
    moveClock(SCHEDULE[0]);
    expect(await deliver()).toEqual(HELD);
    expect(await isHeld()).toBe(true);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [{ responseStatus: 410 }] });
  });
});

/** Makes an endpoint known by an attempt of that kind. */
async function learn({ concurrency }: Admission, endpointId: EndpointId, attempt: Partial<Attempt>) {
  const place = await enter(concurrency, endpointId);
  concurrency.leave(place, buildAttempt(attempt));
}

describe('an attempt at a slow endpoint', () => {
  it.each<[string, SentResult]>([
    ['was slow to answer', answered(204)],
    ['did not answer', { kind: 'failed', reason: 'response_timeout', error: 'No answer.', timings: {} }],
  ])('leaves its slot to others when the endpoint %s before', async (_what, result) => {
    const capacities: number[] = [];
    const { deliver, input, admission, requests, signals } = await arrange({
      results: [answered(204)],
      whileSending: () => capacities.push(admission.slots.capacity),
    });
    await learn(admission, input.endpointId, {
      outcome: judgeResult(result),
      durationMs: result.kind === 'answered' ? SLOW_MS + 1 : 1,
    });
    const before = admission.slots.capacity;
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect([...capacities, admission.slots.capacity]).toEqual([before + 1, before]);
    expect(signals.named('delivery.moved')).toMatchObject([{ eventId: input.eventId, reason: 'slow' }]);
  });

  it('leaves its slot to others when the endpoint was slow this very moment', async () => {
    const { deliver, requests, moveClock, signals } = await arrange({
      results: [answered(500), answered(500)],
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
    const { deliver, admission, input } = await arrange({ results: [answered(204)] });
    await learn(admission, input.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    expect(await deliver()).toEqual({ kind: 'done' });
    const place = await enter(admission.concurrency, input.endpointId);
    expect(place).toMatchObject({ slot: { isSlow: false }, isUnknown: false });
    admission.concurrency.leave(place, undefined);
  });

  it('is held, at no cost of attempts, while there is no room among the slow ones', async () => {
    const { deliver, admission, input, requests, readRecord, signals } = await arrange();
    await learn(admission, input.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    while (admission.slots.hasRoomForSlow) admission.slots.take('slow');
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'busy' }]);
  });

  it('is not made, and leaves no slot, while the endpoint gets nothing anyway', async () => {
    const { deliver, input, admission, signals } = await arrange({ endpoint: disabledEndpoint() });
    await learn(admission, input.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    await deliver();
    expect(signals.named('delivery.moved')).toEqual([]);
    expect(signals.named('delivery.held')).toHaveLength(1);
  });
});

describe('an attempt at an endpoint that nothing is known of', () => {
  it('leaves its slot to others when such attempts hold their share already, until they are done', async () => {
    const results = [answered(500), answered(204)];
    const { deliver, admission, requests, signals } = await arrange({ results });
    const unknownEndpoints = await enterAsUnknown(admission, MAX_UNKNOWN);
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(requests).toHaveLength(1);
    expect(signals.named('delivery.moved')).toMatchObject([{ reason: 'stranger' }]);

    for (const unknownEndpoint of unknownEndpoints) admission.concurrency.leave(unknownEndpoint, undefined);
    expect(await countUnknownLetIn(admission)).toBe(MAX_UNKNOWN);
  });

  it('makes room for others however it comes to its end', async () => {
    const ends: Arrangement[] = [
      { results: [answered(204)] },
      { results: [refused] },
      { results: [unsent] },
      { results: [] },
      { endpoint: disabledEndpoint() },
    ];
    for (const end of ends) {
      const { deliver, admission } = await arrange(end);
      await deliver().catch(() => {});
      expect(await countUnknownLetIn(admission)).toBe(MAX_UNKNOWN);
    }
    const { deliver, admission, input } = await arrange();
    await takeEveryPlace(admission, input);
    const left = MAX_UNKNOWN - 2;
    await deliver();
    expect(await countUnknownLetIn(admission)).toBe(left);
  });
});

async function enterAsUnknown({ concurrency }: Admission, count: number): Promise<Place[]> {
  return await Promise.all(Array.from({ length: count }, () => enter(concurrency, uniqueEndpointId())));
}

/** How many attempts at endpoints that nothing is known of may begin without leaving their slots. */
async function countUnknownLetIn(admission: Admission): Promise<number> {
  const places = await enterAsUnknown(admission, MAX_UNKNOWN + 1);
  for (const place of places) admission.concurrency.leave(place, undefined);
  return places.filter(({ isOfUnknown }) => isOfUnknown).length;
}

describe('where deliveries go one at a time', () => {
  const strictEndpoint = () => buildEndpoint({ ordering: 'strict' });

  /** Gives the delivery its turn, and has another one wait behind it. */
  async function giveTurn(arranged: Awaited<ReturnType<typeof arrange>>) {
    const { admission, input, event } = arranged;
    const { admissionStore, releaser } = admission;
    const own = { eventId: input.eventId, acceptedAt: event.acceptedAt };
    const next = await holdNext(arranged);
    await admissionStore.joinOrder(input.endpointId, [own, next.entry]);
    await admissionStore.admit(
      input.endpointId,
      { ...own, rateLimit: undefined, attemptKey: 'a', leaseMs: 1_000, hasWaited: false, ordering: 'begin' },
      NOW,
    );
    releaser.start();
    return {
      ...next,
      isTurnKept: async () => {
        const { next: first } = await admissionStore.stand(input.endpointId, undefined);
        return first?.eventId === input.eventId && first.hasBegun;
      },
    };
  }

  it('one waits until it is its turn', async () => {
    const endpoint = strictEndpoint();
    await giveTurn(await arrange({ endpoint }));
    const { deliver, requests, isHeld, signals } = await arrange({ endpoint });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'out_of_turn' }]);
  });

  it('the next one goes once this one is delivered', async () => {
    const arranged = await arrange({ endpoint: strictEndpoint(), results: [answered(204)] });
    const { untilReleased } = await giveTurn(arranged);
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    await untilReleased();
  });

  it('the next one waits through the retries of this one, and goes once it is exhausted', async () => {
    const arranged = await arrange({
      endpoint: strictEndpoint(),
      results: [answered(500), answered(500), answered(500)],
    });
    const { stays, untilReleased } = await giveTurn(arranged);
    for (const delayMs of SCHEDULE) {
      await arranged.deliver();
      expect(await stays()).toBe(true);
      arranged.moveClock(delayMs);
    }
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    await untilReleased();
  });

  it('the next one goes when this one was over before its worker died', async () => {
    const log = [{ kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined }] as const;
    const arranged = await arrange({ endpoint: strictEndpoint(), log });
    const { untilReleased } = await giveTurn(arranged);
    await arranged.deliver();
    expect(arranged.requests).toEqual([]);
    await untilReleased();
  });

  it('the next one goes when the event of this one is no longer kept', async () => {
    const arranged = await arrange({ endpoint: strictEndpoint(), event: 'expired' });
    const { untilReleased } = await giveTurn(arranged);
    await arranged.deliver();
    expect(await arranged.readRecord()).toMatchObject({ status: 'cancelled' });
    await untilReleased();
  });

  it('the next one goes when the receiver asks for the end of this one', async () => {
    const results = [answered(422, { wish: 'abort' })];
    const arranged = await arrange({ endpoint: strictEndpoint(), results });
    const { untilReleased } = await giveTurn(arranged);
    await arranged.deliver();
    expect(await arranged.readRecord()).toMatchObject({ status: 'aborted' });
    await untilReleased();
  });

  it('the turn is kept when the request could not leave us', async () => {
    const arranged = await arrange({ endpoint: strictEndpoint(), results: [unsent] });
    const { stays, isTurnKept } = await giveTurn(arranged);
    expect(await arranged.deliver()).toEqual({ kind: 'later', delayMs: 5_000 });
    expect(await stays()).toBe(true);
    expect(await isTurnKept()).toBe(true);
  });

  it('the turn is kept when the attempt is interrupted', async () => {
    const stop = new AbortController();
    const arranged = await arrange({
      endpoint: strictEndpoint(),
      results: [refused],
      whileSending: () => stop.abort(),
    });
    const { stays, isTurnKept } = await giveTurn(arranged);
    expect(await arranged.deliver(stop.signal)).toEqual({ kind: 'interrupted' });
    expect(await stays()).toBe(true);
    expect(await isTurnKept()).toBe(true);
  });
});

describe('what follows from an attempt on record', () => {
  it('keeps no slot waiting for secrets that can not be read, and the attempt is not made again', async () => {
    const { deliver, requests } = await arrange({
      results: [answered(500)],
      refusals: 1,
      refusal: secretUnreadable(),
    });
    await expect(deliver()).rejects.toMatchObject({ code: 'secret_unreadable' });
    expect(await deliver()).toEqual({ kind: 'later', delayMs: SCHEDULE[0] });
    expect(requests).toHaveLength(1);
  });

  it('is done all the same when it is refused at first, and does not change when the next attempt is due', async () => {
    const { deliver, endpoint, signals } = await arrange({ results: [answered(410)], refusals: 1 });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs: SCHEDULE[0], reason: 'http_4xx' });
    expect(signals.named('delivery.follow_up_failed')).toHaveLength(1);
    expect(await endpointStore.find(endpoint.accountId, endpoint.id)).toMatchObject({ status: 'disabled' });
  });
});

describe('an attempt on record that could not be handed on to the archive', () => {
  it('is handed on once that can be, and all that follows from it does not wait for that', async () => {
    const archived: ArchiveRecord[] = [];
    let refusals = 0;
    let isAway = true;
    const { deliver, input, signals, requests, raised } = await arrange({
      results: [answered(410)],
      archiveStream: {
        async add(record) {
          if (isAway) refusals += 1;
          if (isAway) throw new Error('OOM');
          archived.push(record);
        },
      },
    });
    const delivered = deliver();
    await signals.first('delivery.attempted');
    await signals.first('delivery.follow_up_failed');
    while (raised.events.length === 0) await redis.client.ping();
    expect(raised.events.map((event) => event.type)).toContain('webhook.disabled');
    expect(archived).toEqual([]);
    expect(refusals).toBeGreaterThanOrEqual(2);
    isAway = false;
    expect(await delivered).toMatchObject({ kind: 'retry' });
    expect(archived).toMatchObject([{ eventId: input.eventId, fact: { attempt: { number: 1 } } }]);
    expect(requests).toHaveLength(1);
  });
});

describe('an attempt that this process has to let go of', () => {
  it('leaves nothing on record, so that it starts anew', async () => {
    const stop = new AbortController();
    const interrupted: SendResult = {
      kind: 'failed',
      reason: 'network_error',
      error: 'interrupted',
      timings: {},
    };
    const { deliver, readRecord, signals } = await arrange({
      results: [interrupted, answered(204)],
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
    const { deliver, readRecord } = await arrange({
      results: [answered(204)],
      whileSending: () => stop.abort(),
    });
    expect(await deliver(stop.signal)).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
  });
});

describe("a job that may be another worker's by now", () => {
  it('sends nothing once it is not surely ours any more, and leaves nothing on record', async () => {
    const { deliver, requests, readRecord, admission, input, signals } = await arrange({
      job: { ownedUntil: NOW },
    });
    const before = admission.concurrency.freePlaces(input.endpointId);
    expect(await deliver()).toEqual({ kind: 'interrupted' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(admission.concurrency.freePlaces(input.endpointId)).toBe(before);
    expect(signals.named('delivery.attempted')).toEqual([]);
  });

  it('is sent for as long as it is ours', async () => {
    const { deliver, requests } = await arrange({
      job: { ownedUntil: NOW + 1 },
      results: [answered(204)],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
  });

  it('gives back the probe that it was admitted as when it sends nothing', async () => {
    const { deliver, readBreaker, input } = await arrange({ job: { ownedUntil: NOW } });
    await openBreaker(input.endpointId, NOW);
    const before = await readBreaker();
    expect(await deliver()).toEqual({ kind: 'interrupted' });
    expect(await readBreaker()).toEqual(before);
  });
});

describe('a job that was taken over from another worker', () => {
  it('sends nothing that the other one has recorded in the very moment before', async () => {
    const { deliver, requests, readRecord, admission, input } = await arrange({
      job: { wasTakenOver: true },
      whileAdmitting: async (run) =>
        await deliveryStore.append(run, {
          kind: 'attempted',
          attempt: buildAcceptedAttempt(),
          nextAttemptAt: undefined,
        }),
    });
    const before = admission.concurrency.freePlaces(input.endpointId);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(admission.concurrency.freePlaces(input.endpointId)).toBe(before);
  });

  it('goes on when only its answers were erased in that moment', async () => {
    const { deliver, requests, readRecord } = await arrange({
      job: { wasTakenOver: true },
      results: [answered(204)],
      whileAdmitting: async (run) => await deliveryStore.eraseAnswersOf(run, NOW),
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('is sent when nothing has changed', async () => {
    const { deliver, requests } = await arrange({ job: { wasTakenOver: true }, results: [answered(204)] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
  });
});

describe('an attempt that was answered while Redis takes nothing', () => {
  it('is not made again, but on record once it can be', async () => {
    const { deliver, requests, readRecord, signals } = await arrange({
      results: [answered(204)],
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
    const { deliver, readRecord } = await arrange({
      results: [answered(204)],
      recordRefusals: 1,
      whileSending: () => stop.abort(),
    });
    await expect(deliver(stop.signal)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
  });
});

describe('an attempt that another worker has gone on after', () => {
  const someoneElses = (fact: Partial<AttemptedFact>) => (run: DeliveryRun) =>
    deliveryStore.append(run, {
      kind: 'attempted',
      attempt: buildAttempt(),
      nextAttemptAt: undefined,
      ...fact,
    });

  it('is announced and on record, and nothing follows from it', async () => {
    const { deliver, readRecord, readBreaker, signals, raised } = await arrange({
      results: [answered(410)],
      whileSending: someoneElses({ nextAttemptAt: NOW + 60_000 }),
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: 60_000 - SEND_MS });
    expect(await readRecord()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + 60_000,
      attempts: [{ number: 1 }, { number: 2, responseStatus: 410 }],
    });
    expect(signals.named('delivery.attempted')).toHaveLength(1);
    expect(signals.named('delivery.attempted')[0]).not.toHaveProperty('nextDelayMs');
    expect(signals.named('delivery.ended')).toEqual([]);
    expect(signals.named('endpoint.disabled')).toEqual([]);
    expect(raised.events).toEqual([]);
    expect(await readBreaker()).toEqual(CLOSED);
  });

  it('is done when the other one has ended the delivery', async () => {
    const { deliver, readRecord } = await arrange({
      results: [answered(500)],
      whileSending: someoneElses({ attempt: buildAcceptedAttempt() }),
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });
});

it('rejects when its record can not be written, so that the attempt is made again', async () => {
  const { deliver } = await arrange({
    results: [answered(204)],
    // To a key that holds something else than a log, nothing can be appended.
    whileSending: ({ endpointId, eventId }) => redis.client.rpush(keys.delivery(endpointId, eventId), 'x'),
  });
  await expect(deliver()).rejects.toThrow('WRONGTYPE');
});

describe('a delivery that somebody requested once more', () => {
  const requested = { kind: 'requested', requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
  const exhausted = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined } as const;
  const accepted = { ...exhausted, attempt: buildAcceptedAttempt() } as const;

  it('is sent, goes on counting its attempts, and begins its schedule anew', async () => {
    const { deliver, requests, readRecord } = await arrange({
      log: [exhausted, requested],
      results: [answered(500)],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: SCHEDULE[0] });
    expect(requests).toMatchObject([{ headers: { 'x-service-attempt': '2' } }]);
    expect(await readRecord()).toMatchObject({ status: 'pending', isOpen: true });
  });

  it('is not late, however old its event is', async () => {
    const { deliver, signals } = await arrange({ log: [exhausted, requested], results: [answered(204)] });
    await deliver();
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'delivered', lagMs: SEND_MS }]);
  });

  it('is sent once and stays delivered if it was, whatever comes of that; nobody is told of its end', async () => {
    const { deliver, requests, readRecord, signals, raised } = await arrange({
      log: [accepted, requested],
      results: [answered(500)],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      isOpen: false,
      attempts: [{ outcome: 'delivered' }, { outcome: 'http_5xx' }],
    });
    expect(signals.named('delivery.ended')).toEqual([]);
    expect(raised.events.map((event) => event.type)).not.toContain('delivery.exhausted');
  });

  describe('whose job came before the record, and nothing after it', () => {
    const { kind: _kind, ...request } = requested;

    it('is sent, and has the request on record', async () => {
      const { deliver, requests, readRecord } = await arrange({
        log: [exhausted],
        job: { request },
        results: [answered(204)],
      });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(requests).toMatchObject([{ headers: { 'x-service-attempt': '2' } }]);
      expect(await readRecord()).toMatchObject({ status: 'delivered', requestIds: [request.requestId] });
    });

    it('is sent once, however often its job runs', async () => {
      const { deliver, requests, readRecord } = await arrange({
        log: [accepted],
        job: { request },
        results: [answered(500)],
      });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(requests).toHaveLength(1);
      expect(await readRecord()).toMatchObject({ requestIds: [request.requestId], isOpen: false });
    });

    it('goes on by its schedule when it fails, without being asked for again', async () => {
      const { deliver, readRecord, moveClock } = await arrange({
        log: [exhausted],
        job: { request },
        results: [answered(500), answered(204)],
      });
      expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: SCHEDULE[0] });
      expect(await deliver()).toEqual({ kind: 'later', delayMs: SCHEDULE[0] });
      moveClock(SCHEDULE[0]);
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await readRecord()).toMatchObject({ attempts: [{}, {}, {}], requestIds: [request.requestId] });
    });

    it('leaves nothing behind when its account was erased meanwhile', async () => {
      const { deliver, log } = await arrange({ endpoint: 'deleted', event: 'expired', job: { request } });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await log()).toBeNull();
    });
  });
});

import { verifyMessage } from '@webhooks/signature';
import type { Endpoint } from '../endpoints/endpoint';
import { createRedisEndpointStore, type EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AcceptedEvent } from '../events/event';
import { createRedisEventStore, type EventStore } from '../events/redis-event-store';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS } from '../gates/breaker';
import { SLOW_MS } from '../gates/lanes';
import { keys } from '../redis/keys';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildGate, MAX_STRANGERS } from '../testing/build-gate';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { createDeliver, type DeliverInput } from './deliver';
import { deliveryIdOf } from './delivery-id';
import type { DeliveryFact } from './delivery-log';
import { judgeResult } from './judge-result';
import { createRedisDeliveryStore, type DeliveryStore } from './redis-delivery-store';
import type { DeliveryRequest, SendResult, SentResult } from './transport';

const NOW = 1_700_000_060_000;
const SEND_MS = 40;
const SCHEDULE = [5_000, 300_000];

let redis: TestRedis;
let endpointStore: EndpointStore;
let eventStore: EventStore;
let deliveryStore: DeliveryStore;
beforeAll(async () => {
  redis = await openTestRedis();
  endpointStore = createRedisEndpointStore(redis.client);
  eventStore = createRedisEventStore(redis.client, 60_000);
  deliveryStore = createRedisDeliveryStore(redis.client, { ageMs: 60_000, count: 100 });
});
afterAll(() => redis.close());

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

interface Arrangement {
  /** What the receiver gives to one request after the other. */
  readonly results?: SendResult[];
  readonly endpoint?: Endpoint | 'deleted';
  readonly event?: 'expired';
  /** What is on record of the delivery already. */
  readonly log?: readonly DeliveryFact[];
  readonly job?: Partial<Pick<DeliverInput, 'side' | 'wasReleased' | 'lane'>>;
  readonly random?: number;
  /** Happens while a request is under way. */
  readonly whileSending?: (input: DeliverInput) => unknown;
}

/** A delivery that is ready to go, and a receiver that remembers its requests. */
async function arrange({
  results = [],
  log = [],
  random = 0,
  job = {},
  whileSending,
  ...given
}: Arrangement = {}) {
  const endpoint =
    given.endpoint === undefined || given.endpoint === 'deleted' ? buildEndpoint() : given.endpoint;
  const event: AcceptedEvent = buildEvent({ accountId: endpoint.accountId, acceptedAt: NOW - 1_000 });
  const input: DeliverInput = {
    accountId: event.accountId,
    eventId: event.id,
    endpointId: endpoint.id,
    side: 'first',
    wasReleased: false,
    lane: 'fast',
    ...job,
  };
  if (given.endpoint !== 'deleted') await endpointStore.create(endpoint);
  if (given.event !== 'expired') await eventStore.save(event);
  await deliveryStore.enlist(event.id, [endpoint.id], event.acceptedAt);
  for (const fact of log) await deliveryStore.append(input, fact);

  let now = NOW;
  const requests: DeliveryRequest[] = [];
  const signals = recordSignals();
  const clock = () => now;
  const gate = buildGate({ redis: redis.client, clock, signals });
  const deliver = createDeliver({
    ...gate,
    eventStore,
    endpointStore,
    deliveryStore,
    retrySchedule: SCHEDULE,
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
    gate,
    moveClock(ms: number) {
      now += ms;
    },
    deliver: (signal = new AbortController().signal) => deliver(input, signal),
    readRecord: () => deliveryStore.find(input),
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
    expect(verifyMessage({ secret: endpoint.secret, headers, body, nowSeconds: NOW / 1_000 })).toBe(true);
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
        type: event.type,
        attempt: 1,
        outcome: 'delivered',
        responseStatus: 204,
        durationMs: SEND_MS,
      },
    ]);
    expect(signals.named('delivery.ended')).toEqual([
      { name: 'delivery.ended', ...ids, status: 'delivered', lagMs: 1_000 + SEND_MS },
    ]);
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

describe('further attempts', () => {
  it('count on, wait longer, and keep what happened before', async () => {
    const { deliver, requests, readRecord, event } = await arrange({
      results: [answered(500), refused, answered(204)],
    });
    expect(await deliver()).toMatchObject({ delayMs: 5_000 });
    expect(await deliver()).toMatchObject({ delayMs: 300_000 });
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

  it('end with the schedule: then the delivery is exhausted, and kept', async () => {
    const { deliver, readRecord, signals } = await arrange({
      results: [answered(500), answered(500), answered(500, { retryAfter: '60' })],
    });
    await deliver();
    await deliver();
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'exhausted', nextAttemptAt: undefined });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'exhausted' }]);
  });

  it('go to where the endpoint is by then, signed with the secret that it has by then', async () => {
    const { deliver, requests, endpoint } = await arrange({ results: [answered(500), answered(204)] });
    await deliver();
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
    expect(verifyMessage({ secret: moved.secret, headers, body, nowSeconds: NOW / 1_000 })).toBe(true);
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
  it.each([
    ['first', 'second'],
    ['second', 'first'],
  ] as const)("is parked at a disabled endpoint: the %s job's for the %s", async (side, parkedSide) => {
    const { deliver, requests, readRecord, gate, input, signals } = await arrange({
      endpoint: disabledEndpoint(),
      job: { side },
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await gate.gateStore.listParked(input.endpointId, 10)).toEqual([
      { eventId: input.eventId, side: parkedSide },
    ]);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'disabled' }]);
    expect(signals.named('delivery.attempted')).toEqual([]);
  });

  it('is parked while the breaker is open, and sent as a probe when its time has come', async () => {
    const { deliver, requests, gate, input, moveClock, readRecord } = await arrange({
      results: [answered(204)],
    });
    for (let failures = 0; failures < FAILURES_TO_OPEN; failures += 1) {
      await gate.gateStore.recordFailure(input.endpointId, CLOSED, NOW);
    }
    gate.lanes.learn(input.endpointId, { outcome: 'http_5xx', durationMs: 1 });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(gate.wakes.asked).toMatchObject([{ endpointId: input.endpointId, at: NOW + FIRST_OPEN_MS }]);

    moveClock(FIRST_OPEN_MS);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await gate.gateStore.readBreaker(input.endpointId)).toEqual(CLOSED);
  });

  it('is parked while others have taken every place at its endpoint', async () => {
    const { deliver, requests, gate, input, signals } = await arrange();
    await takeEveryPlace(gate, input);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await gate.gateStore.isParked(input.endpointId, input.eventId)).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'busy' }]);
  });

  it('is cancelled rather than parked when its endpoint was deleted', async () => {
    const { deliver, gate, input } = await arrange({ endpoint: 'deleted' });
    await deliver();
    expect(await gate.gateStore.countParked(input.endpointId)).toBe(0);
  });
});

async function takeEveryPlace(
  { admit, windows }: ReturnType<typeof buildGate>,
  { accountId, endpointId }: DeliverInput,
): Promise<void> {
  const endpoint = buildEndpoint({ id: endpointId, accountId });
  while (windows.freePlaces(endpointId) > 0) await admit(endpoint, CLOSED, 'slow');
}

describe("its endpoint's gate", () => {
  it.each([
    ['a success', answered(204)],
    ['a failure', refused],
  ])('has its place back after %s', async (_what, result) => {
    const { deliver, gate, input } = await arrange({ results: [result] });
    const before = gate.windows.freePlaces(input.endpointId);
    await deliver();
    expect(gate.windows.freePlaces(input.endpointId)).toBe(before);
  });

  it('has its place back when the transport breaks its promise', async () => {
    const { deliver, gate, input } = await arrange();
    const before = gate.windows.freePlaces(input.endpointId);
    await expect(deliver()).rejects.toThrow('does not expect');
    expect(gate.windows.freePlaces(input.endpointId)).toBe(before);
  });

  it('lets the next one through after one that had waited', async () => {
    const { deliver, gate, input } = await arrange({
      results: [answered(204)],
      job: { wasReleased: true },
    });
    const next = { eventId: buildEvent().id, side: 'second' } as const;
    await gate.gateStore.park(input.endpointId, next, NOW);
    await deliver();
    expect(gate.releases.released).toMatchObject([{ endpointId: input.endpointId, parked: next }]);
  });

  it('closes for good, until somebody opens it, when the receiver says that it is gone', async () => {
    const { deliver, endpoint, input, gate, readRecord } = await arrange({ results: [answered(410)] });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await endpointStore.find(endpoint.accountId, endpoint.id)).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await gate.gateStore.isParked(input.endpointId, input.eventId)).toBe(true);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [{ responseStatus: 410 }] });
  });
});

describe('a delivery on the fast lane', () => {
  it.each<[string, SentResult]>([
    ['was slow to answer', answered(204)],
    ['did not answer', { kind: 'failed', reason: 'response_timeout', error: 'No answer.', timings: {} }],
  ])('is moved when its endpoint %s before, at no cost of attempts', async (_what, result) => {
    const { deliver, input, gate, requests, readRecord, signals } = await arrange();
    gate.lanes.learn(input.endpointId, {
      outcome: judgeResult(result),
      durationMs: result.kind === 'answered' ? SLOW_MS + 1 : 1,
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(gate.moves.moved).toEqual([input]);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(signals.named('delivery.moved')).toMatchObject([{ eventId: input.eventId, reason: 'slow' }]);
  });

  it('is moved when its endpoint was slow this very moment', async () => {
    const { deliver, gate, requests, moveClock } = await arrange({
      results: [answered(500), answered(500)],
      whileSending: () => moveClock(SLOW_MS),
    });
    expect(await deliver()).toMatchObject({ kind: 'retry' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(gate.moves.moved).toHaveLength(1);
    expect(requests).toHaveLength(1);
  });

  it('is moved when strangers hold their share of the slots already, until they are done', async () => {
    const { deliver, gate, requests, signals } = await arrange({ results: [answered(204)] });
    const strangers = Array.from({ length: MAX_STRANGERS }, () =>
      gate.lanes.enter('fast', uniqueEndpointId(), false),
    );
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(signals.named('delivery.moved')).toMatchObject([{ reason: 'stranger' }]);

    for (const stranger of strangers) if (stranger.kind === 'admitted') gate.lanes.leave(stranger);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
  });

  it('is held, not moved, while its slow endpoint gets nothing anyway', async () => {
    const { deliver, input, gate, signals } = await arrange({ endpoint: disabledEndpoint() });
    gate.lanes.learn(input.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    await deliver();
    expect(gate.moves.moved).toEqual([]);
    expect(signals.named('delivery.held')).toHaveLength(1);
  });

  it('makes room for other strangers however it comes to its end', async () => {
    const ends: Arrangement[] = [
      { results: [answered(204)] },
      { results: [refused] },
      { results: [] },
      { endpoint: disabledEndpoint() },
    ];
    for (const end of ends) {
      const { deliver, gate } = await arrange(end);
      await deliver().catch(() => {});
      expect(countStrangersLetIn(gate)).toBe(MAX_STRANGERS);
    }
    const { deliver, gate, input } = await arrange();
    await takeEveryPlace(gate, input);
    await deliver();
    expect(countStrangersLetIn(gate)).toBe(MAX_STRANGERS);
  });
});

function countStrangersLetIn({ lanes }: ReturnType<typeof buildGate>): number {
  let letIn = 0;
  while (lanes.enter('fast', uniqueEndpointId(), false).kind === 'admitted') letIn += 1;
  return letIn;
}

describe('a delivery on the slow lane', () => {
  it('is tried there, however slow its endpoint is, and a quick answer brings the next ones back', async () => {
    const { deliver, gate, input, requests } = await arrange({
      job: { lane: 'slow' },
      results: [answered(204)],
    });
    gate.lanes.learn(input.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(gate.lanes.enter('fast', input.endpointId, false)).toMatchObject({ kind: 'admitted' });
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

it('rejects when its record can not be written, so that the attempt is made again', async () => {
  const { deliver } = await arrange({
    results: [answered(204)],
    // To a key that holds something else than a log, nothing can be appended.
    whileSending: ({ endpointId, eventId }) => redis.client.rpush(keys.delivery(endpointId, eventId), 'x'),
  });
  await expect(deliver()).rejects.toThrow('WRONGTYPE');
});

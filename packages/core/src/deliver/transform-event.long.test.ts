import type { AttemptOutcome } from '../domain/attempt';
import { type DeliveryFact, linesToAppend } from '../domain/delivery-fact';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { DeliveryScene, NOW, responded, SCHEDULE } from '../testing/arrange-delivery';
import { buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

const SHOUT =
  'export default ({ type, attempt }) => ({ body: { text: type, attempt }, headers: { "X-Kind": "a" } });';

/** A delivery at an endpoint with this code. */
async function arrange(
  code: string,
  more: Parameters<DeliveryScene['arrange']>[0] = {},
  endpointParts: Parameters<typeof buildEndpoint>[0] = {},
) {
  const store = new TransformationStore(scene.redis.client);
  const endpoint = buildEndpoint({ transformation: { version: 1, isEnabled: true }, ...endpointParts });
  await store.save(endpoint.id, { code, savedAt: 1, savedBy: 'key_1' });
  const arranged = await scene.arrange({ endpoint, ...more });
  return { ...arranged, store };
}

const failed = (outcome: AttemptOutcome, number = 1): DeliveryFact => ({
  kind: 'attempted',
  attempt: { number, startedAt: 1, durationMs: 1, outcome },
  nextAttemptAt: 2,
});

it('sends what the code makes, with its headers, and signs that', async () => {
  const { deliver, requests, event, readRecord } = await arrange(SHOUT, { results: [responded(200)] });
  expect(await deliver()).toEqual({ kind: 'done' });
  const [request] = requests;
  expect(request?.body).toBe(`{"text":"${event.type}","attempt":1}`);
  expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-kind': 'a' });
  expect(await readRecord()).toMatchObject({
    status: 'delivered',
    attempts: [{ outcome: 'delivered', transformed: { version: 1, body: request?.body } }],
  });
});

it('sends the same bytes on each attempt, whatever the code has become meanwhile', async () => {
  const first = await arrange(SHOUT, { results: [responded(500), responded(200)] });
  await first.deliver();
  await first.store.save(first.endpoint.id, {
    code: 'export default () => ({ body: 2 })',
    savedAt: 2,
    savedBy: 'key_1',
  });
  await scene.endpointStore.update(first.endpoint.accountId, first.endpoint.id, (endpoint) => ({
    ...endpoint,
    transformation: { version: 2, isEnabled: true },
  }));
  first.moveClock((SCHEDULE[0] ?? 0) * 2);
  await first.deliver();
  const [one, other] = first.requests;
  expect(other?.body).toBe(one?.body);
  expect(other?.headers['webhook-signature']).not.toBe(one?.headers['webhook-signature']);
});

it('sends the same bytes after a crash between the code and the request', async () => {
  let crashes = true;
  const arranged = await arrange(SHOUT, {
    results: [responded(200), responded(200)],
    whileSending: () => {
      if (crashes) throw new Error('killed');
    },
  });
  await expect(arranged.deliver()).rejects.toThrow('killed');
  crashes = false;
  await arranged.deliver();
  const [one, other] = arranged.requests;
  expect(other?.body).toBe(one?.body);
  expect(arranged.signals.named('delivery.transformed')).toHaveLength(1);
});

it('sends the same bytes after a crash, though the code has changed since', async () => {
  const { deliver, requests } = await arrange('export default () => ({ body: "new" });', {
    results: [responded(200)],
    log: [{ kind: 'transformed', transformed: { version: 0, body: '"old"', headers: {} } }],
  });
  await deliver();
  expect(requests[0]?.body).toBe('"old"');
});

it('makes it anew when it is requested again and the code has changed', async () => {
  const { deliver, requests } = await arrange('export default () => ({ body: "new" });', {
    results: [responded(200)],
    log: [
      { kind: 'transformed', transformed: { version: 0, body: '"old"', headers: {} } },
      { ...failed('http_5xx'), nextAttemptAt: undefined } as DeliveryFact,
      { kind: 'requested', requestId: 'req_1', trigger: 'manual', requestedAt: NOW },
    ],
  });
  await deliver();
  expect(requests[0]?.body).toBe('"new"');
});

describe('sends the same bytes in a round that was requested, though the code has changed since', () => {
  const old: DeliveryFact = {
    kind: 'transformed',
    transformed: { version: 0, body: '"old"', headers: {} },
  };
  const exhausted = { ...failed('http_5xx'), nextAttemptAt: undefined } as DeliveryFact;
  const requested = { kind: 'requested', requestId: 'req_1', trigger: 'manual', requestedAt: NOW } as const;
  const latest = 'export default () => ({ body: "new" });';

  it.each<[string, readonly DeliveryFact[], string]>([
    ['an attempt that is not recorded may have sent what was made', [exhausted, requested, old], 'old'],
    ['it was requested while it was pending', [old, requested], 'old'],
    ['it was requested while it was tried', [old, failed('http_5xx'), requested], 'old'],
    [
      'it sends what was made for the round before',
      [old, exhausted, requested, { kind: 'reused', version: 0 }],
      'old',
    ],
    [
      'an attempt of the round before was recorded late',
      [
        old,
        exhausted,
        requested,
        { kind: 'transformed', transformed: { version: 1, body: '"new"', headers: {} } },
        failed('http_5xx', 2),
        {
          kind: 'attempted',
          attempt: {
            number: 3,
            startedAt: 1,
            durationMs: 1,
            outcome: 'http_5xx',
            transformed: { version: 0, body: '"old"', headers: {} },
          },
          nextAttemptAt: 2,
          isLate: true,
        },
      ],
      'new',
    ],
  ])('when %s', async (_why, log, body) => {
    const { deliver, requests } = await arrange(latest, { results: [responded(200)], log });
    await deliver();
    expect(requests[0]?.body).toBe(`"${body}"`);
  });

  it('after a crash of the attempt that sent once more what was made before', async () => {
    let crashes = true;
    const first = await arrange(SHOUT, {
      results: [responded(200), responded(200)],
      log: [{ ...old, transformed: { version: 1, body: '"old"', headers: {} } }, exhausted, requested],
      whileSending: () => {
        if (crashes) throw new Error('killed');
      },
    });
    await expect(first.deliver()).rejects.toThrow('killed');
    crashes = false;
    await scene.endpointStore.update(first.endpoint.accountId, first.endpoint.id, (endpoint) => ({
      ...endpoint,
      transformation: { version: 2, isEnabled: true },
    }));
    await first.store.save(first.endpoint.id, { code: latest, savedAt: 2, savedBy: 'key_1' });
    await first.deliver();
    expect(first.requests.map(({ body }) => body)).toEqual(['"old"', '"old"']);
    expect(first.signals.named('delivery.transformed')).toEqual([]);
  });
});

it('is an attempt of its own when the code fails: with its line, and a retry', async () => {
  const code = 'export default () => {\n  nope.x;\n};';
  const { deliver, requests, readRecord } = await arrange(code);
  expect(await deliver()).toMatchObject({ kind: 'retry', reason: 'transform_error' });
  expect(requests).toEqual([]);
  expect(await readRecord()).toMatchObject({
    status: 'pending',
    attempts: [
      { outcome: 'transform_error', error: expect.stringMatching(/^line 2, column \d+: ReferenceError/) },
    ],
  });
});

it.each([
  ...['text/plain\r\n;a', 'text/plain\u2028;a', 'text/plain\u00a0;a', 'text/plain\n'].map((type) => ({
    'content-type': type,
  })),
  { '': 'text/plain' },
  { 'content-type': 'text/plain', 'Content-Type': 'text/plain' },
])('is an attempt of its own, too, when the headers are none that can be sent: %j', async (given) => {
  const headers = JSON.stringify(given);
  const { deliver, requests, readRecord } = await arrange(
    `export default () => ({ body: "a", headers: ${headers} });`,
  );
  expect(await deliver()).toMatchObject({ kind: 'retry', reason: 'transform_error' });
  expect(requests).toEqual([]);
  expect(await readRecord()).toMatchObject({ attempts: [{ outcome: 'transform_error' }] });
});

it.each([
  ['alone', {}],
  ['in a batch', { batch: { max_events: 10 } }],
])('waits %s without an attempt while the transformations of its account are paused', async (_how, more) => {
  const { deliver, moveClock, signals, readRecord } = await arrange(
    'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    {},
    more,
  );
  for (const delayMs of SCHEDULE.slice(0, 2)) {
    await deliver();
    moveClock(delayMs * 2);
  }
  const result = await deliver();
  expect(result).toMatchObject({ kind: 'later', delayMs: expect.any(Number) });
  expect('delayMs' in result ? result.delayMs : 0).toBeGreaterThan(20_000);
  expect((await readRecord())?.attempts).toHaveLength(2);
  expect(signals.named('delivery.unsent')).toMatchObject([{ pausedForMs: expect.any(Number) }]);
});

it('makes it anew after an attempt that the code has failed', async () => {
  const { deliver, requests } = await arrange('export default () => ({ body: "mended" });', {
    results: [responded(200)],
    log: [{ ...failed('transform_error'), nextAttemptAt: 0 } as DeliveryFact],
  });
  await deliver();
  expect(requests[0]?.body).toBe('"mended"');
});

it('says nothing of the receiver: the breaker and the endpoint stay as they are', async () => {
  const { deliver, signals, admission, endpoint } = await arrange('export default () => null;');
  for (let i = 0; i < 10; i += 1) await deliver();
  expect(signals.named('breaker.opened')).toEqual([]);
  expect(await admission.admissionStore.readBreaker(endpoint.id)).toMatchObject({ failures: 0 });
});

it('ends the delivery where the code cancels it', async () => {
  const { deliver, requests, signals, readRecord } = await arrange(
    'export default () => ({ cancel: true });',
  );
  expect(await deliver()).toEqual({ kind: 'done' });
  expect(requests).toEqual([]);
  expect(await readRecord()).toMatchObject({
    status: 'cancelled',
    cancelReason: 'transformation',
    attempts: [],
  });
  expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
});

it('is read again by the next run when another worker has continued the delivery meanwhile', async () => {
  let isFirst = true;
  const { deliver, requests, run } = await arrange(SHOUT, {
    results: [responded(200)],
    whileAdmitting: async (delivery) => {
      if (isFirst) await scene.deliveryStore.append(delivery, failed('http_5xx'));
      isFirst = false;
    },
  });
  expect(await deliver()).toEqual({ kind: 'later', delayMs: 0 });
  expect(await deliver()).toMatchObject({ kind: 'done' });
  expect(requests).toHaveLength(1);
  const state = await scene.deliveryStore.find(run);
  expect(state?.attempts.map(({ outcome }) => outcome)).toEqual(['http_5xx', 'delivered']);
});

it('keeps nothing of what was made once the payload is erased', async () => {
  const { deliver, run } = await arrange(SHOUT, { results: [responded(500)] });
  await deliver();
  await scene.deliveryStore.eraseAnswersOf(run, 9);
  const [log] = await scene.deliveryStore.readLogs([run]);
  expect(log).not.toContain('text');
});

it.each(['native', 'cloudevents_binary'] as const)(
  'keeps no name of a header and no type that was made once the payload is erased: %s',
  async (format) => {
    const code =
      'export default () => ({ body: 1, headers: { "X-Secret": "1", "Content-Type": "application/json; a=secret" } });';
    const store = new TransformationStore(scene.redis.client);
    const endpoint = buildEndpoint({ format, transformation: { version: 1, isEnabled: true } });
    await store.save(endpoint.id, { code, savedAt: 1, savedBy: 'key_1' });
    const { deliver, run, requests } = await scene.arrange({ endpoint, results: [responded(500)] });
    await deliver();
    expect(requests[0]?.headers).toMatchObject({
      'x-secret': '1',
      'content-type': 'application/json; a=secret',
    });
    await scene.deliveryStore.eraseAnswersOf(run, 9);
    const [log] = await scene.deliveryStore.readLogs([run]);
    expect(log).toContain('"o":"http_5xx"');
    expect(log).not.toContain('secret');
  },
);

it('keeps no word of the code once the payload is erased, also of an attempt that is recorded later', async () => {
  const code = 'export default ({ data }) => {\n  throw new Error("bad " + data.keyword);\n};';
  const { deliver, run, readRecord } = await arrange(code);
  await deliver();
  expect((await readRecord())?.attempts[0]?.error).toMatch(/^line 2, column \d+: Error: bad \w/);
  await scene.deliveryStore.eraseAnswersOf(run, 9);
  const erased = (await readRecord())?.attempts[0]?.error;
  expect(erased).toMatch(/^line 2, column \d+: The message is erased with the payload\.$/);
  const late = {
    ...failed('transform_error'),
    attempt: buildAttempt({ outcome: 'transform_error', error: 'line 2: secret' }),
  };
  const [, short] = linesToAppend(late);
  expect(JSON.parse(short)).toMatchObject({ e: 'line 2: The message is erased with the payload.' });
});

it('costs an endpoint whose code is switched off nothing', async () => {
  const endpoint = buildEndpoint({ transformation: { version: 1, isEnabled: false } });
  const { deliver, requests, event } = await scene.arrange({ endpoint, results: [responded(200)] });
  await deliver();
  expect(requests[0]?.body).toBe(event.body);
});

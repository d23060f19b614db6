import { DeliveryScene, NOW, responded, SCHEDULE, SEND_MS } from '../testing/arrange-delivery';
import { buildEndpoint } from '../testing/build-endpoint';
import { decideRetry, type RetryInput } from './decide-next';
import { MAX_RETRY_AFTER_MS, parseRetryAfter } from './retry-after';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const JUST_BELOW_ONE = 1 - 2 ** -53;

const decide = (change: Partial<RetryInput> = {}) =>
  decideRetry({ schedule: [5 * SECOND, 24 * HOUR], attempt: 1, retryAfterMs: 0, random: 0, ...change });

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

describe('an attempt that fails', () => {
  it('is repeated after the delay of the schedule and its jitter', async () => {
    const { deliver } = await scene.arrange({ results: [responded(500)], random: 0.5 });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs: 5_250, reason: 'http_5xx' });
  });

  it.each([
    ['120', 120_000],
    [new Date(NOW + SEND_MS + 60_000).toUTCString(), 60_000 - SEND_MS],
    ['1', 5_000],
    ['garbage', 5_000],
  ])('is repeated no sooner than the receiver asked for: "%s"', async (retryAfter, delayMs) => {
    const { deliver, readRecord } = await scene.arrange({ results: [responded(503, { retryAfter })] });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs, reason: 'http_5xx' });
    expect(await readRecord()).toMatchObject({ nextAttemptAt: NOW + SEND_MS + delayMs });
  });
});

describe('a receiver that asks for the end of a delivery', () => {
  it('is not sent it again: it is aborted, and kept with its attempt', async () => {
    const { deliver, readRecord, signals } = await scene.arrange({
      results: [responded(422, { wish: 'abort' })],
    });
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
    const { deliver, readRecord } = await scene.arrange({ results: [responded(200, { wish: 'abort' })] });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered' });
  });
});

describe('further attempts', () => {
  it('end with the schedule: then the delivery is exhausted, and kept', async () => {
    const { deliver, readRecord, signals, moveClock } = await scene.arrange({
      results: [responded(500), responded(500), responded(500, { retryAfter: '60' })],
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
    const { deliver, readRecord, moveClock } = await scene.arrange({
      endpoint: buildEndpoint({ retrySchedule: [7_000] }),
      results: [responded(500), responded(500)],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: 7_000 });
    moveClock(7_000);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'exhausted' });
  });
});

describe('decideRetry', () => {
  it('waits for the delay that follows the attempt', () => {
    expect(decide()).toEqual({ kind: 'retry', delayMs: 5 * SECOND });
    expect(decide({ attempt: 2 })).toEqual({ kind: 'retry', delayMs: 24 * HOUR });
  });

  it('is exhausted when the attempt was the last one, whatever the receiver asks for', () => {
    expect(decide({ attempt: 3 })).toEqual({ kind: 'exhausted' });
    expect(decide({ attempt: 4, retryAfterMs: SECOND })).toEqual({ kind: 'exhausted' });
    expect(decide({ schedule: [], attempt: 1 })).toEqual({ kind: 'exhausted' });
  });

  it.each([
    [0, 5_000],
    [0.5, 5_250],
    [JUST_BELOW_ONE, 5_500],
  ])('adds a jitter of up to 10 %%: with %d of it, %d ms', (random, delayMs) => {
    expect(decide({ random })).toEqual({ kind: 'retry', delayMs });
  });

  it.each([
    [0, 24 * HOUR],
    [0.5, 24 * HOUR + 450 * SECOND],
    [JUST_BELOW_ONE, 24 * HOUR + 900 * SECOND],
  ])('adds no more than 15 minutes: with %d of it, %d ms', (random, delayMs) => {
    expect(decide({ attempt: 2, random })).toEqual({ kind: 'retry', delayMs });
  });

  it('waits for longer when the receiver asked for longer, to the millisecond', () => {
    expect(decide({ retryAfterMs: 60 * SECOND, random: 0.5 })).toEqual({
      kind: 'retry',
      delayMs: 60 * SECOND,
    });
  });

  it('waits no less than scheduled when the receiver asked for less', () => {
    expect(decide({ retryAfterMs: SECOND })).toEqual({ kind: 'retry', delayMs: 5 * SECOND });
  });

  it('gives whole milliseconds', () => {
    expect(decide({ schedule: [33], random: 0.77 })).toEqual({ kind: 'retry', delayMs: 36 });
  });
});

describe('parseRetryAfter', () => {
  const SENT_AT = Date.parse('1994-11-06T08:49:00Z');

  it.each([
    ['0', 0],
    ['1', 1_000],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['007', 7_000],
    ['86400', MAX_RETRY_AFTER_MS],
    // The three forms of a date that RFC 9110 asks recipients to understand; the last one means GMT too.
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
  ])('reads "%s" as a wait of %d ms', (header, waitMs) => {
    expect(parseRetryAfter(header, SENT_AT)).toBe(waitMs);
  });

  it.each([
    '86401',
    '99999999999999999999',
    '9'.repeat(400),
    'Mon, 07 Nov 1994 08:49:01 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
  ])('cuts "%s" to a day', (header) => {
    expect(parseRetryAfter(header, SENT_AT)).toBe(MAX_RETRY_AFTER_MS);
  });

  it('waits for nothing when its time has passed', () => {
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:48:59 GMT', SENT_AT)).toBe(0);
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:00 GMT', SENT_AT)).toBe(0);
  });

  it.each([
    undefined,
    '',
    ' ',
    '-5',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '5s',
    '5, 10',
    'soon',
    'NaN',
    'Infinity',
    'Sun',
    'Sun, 99 Foo 1994 08:49:37 GMT',
    '1994-11-06T08:49:37Z',
  ])('waits for nothing when it is %j', (header) => {
    expect(parseRetryAfter(header, SENT_AT)).toBe(0);
  });
});

import * as fc from 'fast-check';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { deliveryLog } from '../testing/delivery-logs';
import { type DeliveryFact, encodeFact } from './delivery-fact';
import { NOTHING_HAPPENED, newestTimeOf, readLog, readSummary, stepsOf } from './delivery-log';

const RETRY_AT = 1_700_000_005_000;

const failed = (number: number, nextAttemptAt?: number): DeliveryFact => ({
  kind: 'attempted',
  attempt: buildAttempt({ number }),
  nextAttemptAt,
});
const delivered = (number: number): DeliveryFact => ({
  kind: 'attempted',
  attempt: buildAcceptedAttempt({ number }),
  nextAttemptAt: undefined,
});
const aborted = (number: number): DeliveryFact => ({
  kind: 'attempted',
  attempt: buildAttempt({ number }),
  nextAttemptAt: undefined,
  isAborted: true,
});
const requested: DeliveryFact = {
  kind: 'requested',
  requestId: 'rdl_1',
  trigger: 'manual',
  requestedAt: RETRY_AT,
};
const cancelled: DeliveryFact = { kind: 'cancelled', reason: 'endpoint_deleted' };

function stateAfter(...facts: DeliveryFact[]) {
  const { status, nextAttemptAt, attempts } = readLog(facts.map(encodeFact).join(''));
  return { status, nextAttemptAt, attempts: attempts.map(({ number }) => number) };
}

it('keeps the position of a failed attempt in its trace, and takes no room without one', () => {
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
  const attempt = buildAttempt({ number: 1, trace });
  const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: RETRY_AT });
  expect(readLog(line).attempts).toEqual([attempt]);
  // Redis looks for it there.
  expect(line).toMatch(new RegExp(`"r":${RETRY_AT}}\n$`));
  expect(encodeFact(failed(1, RETRY_AT))).not.toContain('"p"');
});

describe('readLog', () => {
  it('gives a pending delivery without attempts for an empty log', () => {
    expect(readLog('')).toEqual(NOTHING_HAPPENED);
  });

  it.each<[string, DeliveryFact[], object]>([
    [
      'pending after a failed attempt that will be repeated',
      [failed(1, RETRY_AT)],
      { status: 'pending', nextAttemptAt: RETRY_AT, attempts: [1] },
    ],
    [
      'exhausted after a failed attempt that was the last one',
      [failed(1, RETRY_AT), failed(2)],
      { status: 'exhausted', nextAttemptAt: undefined, attempts: [1, 2] },
    ],
    [
      'delivered after a 2xx, with nothing planned any more',
      [failed(1, RETRY_AT), delivered(2)],
      { status: 'delivered', nextAttemptAt: undefined, attempts: [1, 2] },
    ],
    [
      'aborted after a failed attempt whose receiver asked for that',
      [failed(1, RETRY_AT), aborted(2)],
      { status: 'aborted', nextAttemptAt: undefined, attempts: [1, 2] },
    ],
    [
      'cancelled after its endpoint was deleted, with nothing planned any more',
      [failed(1, RETRY_AT), cancelled],
      { status: 'cancelled', nextAttemptAt: undefined, attempts: [1] },
    ],
    [
      'pending again after its end, once somebody requested it, and due at once',
      [failed(1, RETRY_AT), failed(2), requested],
      { status: 'pending', nextAttemptAt: undefined, attempts: [1, 2] },
    ],
    [
      'what follows from the attempts after that',
      [failed(1), requested, failed(2, RETRY_AT)],
      { status: 'pending', nextAttemptAt: RETRY_AT, attempts: [1, 2] },
    ],
    [
      'delivered, whatever an attempt that was requested afterwards came to',
      [delivered(1), requested, failed(2)],
      { status: 'delivered', nextAttemptAt: undefined, attempts: [1, 2] },
    ],
  ])('is %s', (_what, facts, expected) => {
    expect(stateAfter(...facts)).toEqual(expected);
  });

  // Two workers that both believe to own a delivery: the one whose lock ran out may write after the other
  // one.
  it.each<[string, DeliveryFact]>([
    ['a failed attempt that would be repeated', failed(1, RETRY_AT)],
    ['a failed attempt that would be the last one', failed(1)],
    ['a cancellation', cancelled],
    ['a second delivery', delivered(1)],
  ])('stays delivered, with nothing planned, after %s of another worker', (_what, fact) => {
    expect(stateAfter(delivered(1), fact)).toMatchObject({ status: 'delivered', nextAttemptAt: undefined });
  });

  it('is delivered when the answer comes after another worker has given up', () => {
    expect(stateAfter(failed(1), delivered(1))).toMatchObject({ status: 'delivered', attempts: [1, 1] });
    expect(stateAfter(cancelled, delivered(1))).toMatchObject({ status: 'delivered' });
  });

  it('gives attempts back with all that was recorded, and no more', () => {
    const full = buildAttempt({
      error: 'line\nfeed "quoted"',
      responseBody: '{"reason":"Zoë 🚀"}\r\n',
      timings: { dnsMs: 1, connectMs: 0, tlsMs: 3, firstByteMs: 40 },
      trigger: 'manual',
      worker: 'f00d42',
      addedHeaders: ['x-tenant', 'authorization'],
      contentHeaders: { 'content-type': 'application/cloudevents+json' },
      responseHeaders: { server: 'nginx', 'retry-after': '120' },
    });
    const bare = { number: 2, startedAt: 1, durationMs: 2, outcome: 'connect_refused' } as const;
    const log = [full, bare].map((attempt) => encodeFact({ kind: 'attempted', attempt, nextAttemptAt: 3 }));
    expect(readLog(log.join('')).attempts).toEqual([full, bare]);
  });

  it.each([
    { firstByteMs: 12 },
    { connectMs: 4 },
    { dnsMs: 4 },
    { dnsMs: 1, connectMs: 2, firstByteMs: 3 },
    { connectMs: 2, tlsMs: 0 },
  ])('gives the timings %j back', (timings) => {
    const attempt = buildAttempt({ timings });
    expect(readLog(encodeFact({ kind: 'attempted', attempt, nextAttemptAt: 3 })).attempts).toEqual([attempt]);
  });

  it.each(['{', 'null', '[]', '{"n":1}', '{"n":1,"t":1,"d":1,"o":"no_such_outcome"}', '{"q":"rdl_1","t":1}'])(
    'skips the foreign line %j, and reads the others',
    (line) => {
      const log = `${line}\n${encodeFact(failed(1, RETRY_AT))}${line}\n`;
      expect(readLog(log)).toEqual(readLog(encodeFact(failed(1, RETRY_AT))));
      expect(readLog(`${line}\n`)).toEqual(NOTHING_HAPPENED);
    },
  );
});

describe('readSummary', () => {
  it.each<[string, DeliveryFact[]]>([
    ['nothing', []],
    ['a retry', [failed(1, RETRY_AT)]],
    ['an end', [failed(1, RETRY_AT), failed(2)]],
    ['a success that was requested once more', [delivered(1), requested]],
    ['a cancellation', [failed(1), requested, cancelled]],
  ])('is the short form of what the log says after %s', (_what, facts) => {
    const log = facts.map(encodeFact).join('');
    const state = readLog(log);
    expect(state).toMatchObject(readSummary(log));
    expect(state.attemptCount).toBe(state.attempts.length);
    expect(state.lastResponseStatus).toBe(state.attempts.at(-1)?.responseStatus);
  });
});

describe('encodeFact', () => {
  it('is one short line', () => {
    const line = encodeFact(delivered(1));
    expect(line).toBe('{"n":1,"t":1700000000500,"d":40,"s":204}\n');
  });

  it('ends with when the next attempt is due, if there is one: the store looks for it there', () => {
    const attempt = buildAttempt({ responseBody: 'x', worker: 'f00d42', responseHeaders: { via: 'x' } });
    const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: 1_700_000_005_000 });
    expect(line.endsWith(',"r":1700000005000}\n')).toBe(true);
  });

  it('adds little for the timings over a connection that was kept alive', () => {
    const attempt = buildAcceptedAttempt({ timings: { firstByteMs: 38 } });
    expect(encodeFact({ kind: 'attempted', attempt, nextAttemptAt: undefined })).toBe(
      '{"n":1,"t":1700000000500,"d":40,"s":204,"w":[38]}\n',
    );
  });
});

describe('whether there is an attempt to come', () => {
  it.each<[string, DeliveryFact[], boolean]>([
    ['yes for one that was never tried', [], true],
    ['yes for one that is tried again', [failed(1, RETRY_AT)], true],
    ['no for one that has ended', [failed(1)], false],
    ['no for one that was delivered', [delivered(1)], false],
    ['yes for one that was delivered, and requested once more', [delivered(1), requested], true],
    ['no once that attempt was made, even if it failed', [delivered(1), requested, failed(2)], false],
    ['no for a requested one whose endpoint was deleted', [failed(1), requested, cancelled], false],
  ])('is %s', (_what, facts, expected) => {
    expect(readLog(facts.map(encodeFact).join('')).isOpen).toBe(expected);
  });
});

describe('a request', () => {
  const roundAfter = (...facts: DeliveryFact[]) => readLog(facts.map(encodeFact).join('')).round;
  const requestedAt = RETRY_AT;
  const SENT_AS_IT_IS = { transformed: undefined };

  it('is known by its id', () => {
    expect(readLog([failed(1), requested].map(encodeFact).join('')).requestIds).toEqual(['rdl_1']);
  });

  it('begins the schedule again after the end, and has caused the next attempt only', () => {
    const ended = [failed(1, RETRY_AT), failed(2), requested];
    expect(roundAfter(...ended)).toEqual({ number: 2, trigger: 'manual', requestedAt, attempts: 0 });
    expect(roundAfter(...ended, failed(3, RETRY_AT))).toEqual({
      number: 2,
      trigger: 'schedule',
      requestedAt,
      attempts: 1,
      content: SENT_AS_IT_IS,
    });
  });

  it('begins a delivery that did not exist', () => {
    expect(roundAfter(requested)).toEqual({ number: 1, trigger: 'manual', requestedAt, attempts: 0 });
  });

  it('brings the next attempt forward before the end, and leaves the schedule where it was', () => {
    const log = [failed(1, RETRY_AT), failed(2, RETRY_AT), requested];
    expect(roundAfter(...log)).toEqual({
      number: 1,
      trigger: 'manual',
      attempts: 2,
      content: SENT_AS_IT_IS,
    });
    expect(stateAfter(...log)).toEqual({ status: 'pending', nextAttemptAt: undefined, attempts: [1, 2] });
    expect(roundAfter(...log, failed(3, RETRY_AT))).toEqual({
      number: 1,
      trigger: 'schedule',
      attempts: 3,
      content: SENT_AS_IT_IS,
    });
  });
});

describe('a late line', () => {
  const late = (round: number | undefined, fact: DeliveryFact): DeliveryFact => ({
    ...fact,
    ...(fact.kind === 'attempted' && { isLate: true, ...(round !== undefined && { round }) }),
  });
  const again = [delivered(1), requested];
  const triedAgain = [failed(1), requested, failed(2, RETRY_AT)];

  it.each<[string, readonly DeliveryFact[], object]>([
    [
      'ends no request that came after its round',
      [...again, late(1, delivered(2))],
      { status: 'delivered', isOpen: true, round: { number: 2, attempts: 0 } },
    ],
    [
      'has the delivery delivered, and leaves the retry of a later round where it is',
      [...triedAgain, late(1, delivered(3))],
      { status: 'delivered', isOpen: true, nextAttemptAt: RETRY_AT, round: { number: 2, attempts: 1 } },
    ],
    [
      'ends the round that is its own with a success',
      [...triedAgain, late(2, delivered(3))],
      { status: 'delivered', isOpen: false, nextAttemptAt: undefined },
    ],
    [
      'undoes nothing with a failure',
      [...triedAgain, late(2, failed(3))],
      { status: 'pending', isOpen: true, nextAttemptAt: RETRY_AT, round: { attempts: 1 } },
    ],
    [
      'of an earlier version, which does not tell its round, is of the open one',
      [...again, late(undefined, delivered(2))],
      { status: 'delivered', isOpen: false },
    ],
  ])('%s', (_what, facts, expected) => {
    const log = facts.map(encodeFact).join('');
    expect(readLog(log)).toMatchObject(expected);
    expect(readLog(log)).toMatchObject(readSummary(log));
  });

  it('costs other attempts nothing: those of the first round do not say so', () => {
    expect(encodeFact({ ...delivered(1), round: 1 } as DeliveryFact)).toBe(encodeFact(delivered(1)));
    expect(encodeFact({ ...delivered(2), round: 2 } as DeliveryFact)).toContain('"ro":2');
  });
});

it('tells the newest time of a log without parsing it, whatever receivers have answered', () => {
  fc.assert(
    fc.property(deliveryLog('a.b'), (log) => {
      const times = stepsOf(log).map(({ line }) => ('t' in line ? line.t : 0));
      expect(newestTimeOf(log)).toBe(Math.max(0, ...times));
    }),
  );
  const attempt = buildAttempt({ responseBody: '{"t":9999999999999}', responseHeaders: { t: '9' } });
  expect(newestTimeOf(encodeFact({ kind: 'attempted', attempt, nextAttemptAt: RETRY_AT }))).toBe(
    attempt.startedAt,
  );
});

import { buildAttempt } from '../testing/build-attempt';
import type { Attempt } from './attempt';
import { type DeliveryFact, encodeFact, encodeFactIn, eraseAnswers } from './delivery-fact';
import { readLine } from './delivery-line';
import { readLog } from './delivery-log';
import type { EventId } from './event';

it('ends with what Redis looks for there: when the next attempt is due, or when a request came', () => {
  const attempt: Required<Attempt> = {
    ...buildAttempt(),
    error: 'no answer',
    responseBody: 'sorry',
    responseHeaders: { server: 'nginx' },
    contentHeaders: { 'content-type': 'text/plain' },
    addedHeaders: ['x-kind'],
    tokenError: { status: 400, code: 'invalid_client' },
    timings: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 },
    responseStatus: 500,
    trigger: 'manual',
    worker: 'a1b2c3',
    remoteAddress: '192.0.2.7',
    holds: [{ reason: 'busy', since: 1_700_000_000_000 }],
    transformed: made,
    batchId: 'msg_1',
    trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true },
  };
  const transformed = encodeFact({ kind: 'transformed', transformed: made });
  const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: 7 });
  expect(line).toMatch(/,"r":7}\n$/);
  expect(readLog(transformed + line).attempts).toEqual([attempt]);
  const requested = { kind: 'requested', requestId: 'rdl_1', trigger: 'manual', requestedAt: 7 } as const;
  expect(encodeFact(requested)).toMatch(/,"t":7}\n$/);
});

const NEWER = 'evt_newer' as EventId;
const made = { version: 3, body: '{"x":1}', headers: { 'content-type': 'text/plain' } };

// The version before gave some letters a second meaning. It writes, and can read, these lines.
it.each<[DeliveryFact, string, string]>([
  [
    { kind: 'transformed', transformed: made },
    '{"m":"{\\"x\\":1}","mh":{"content-type":"text/plain"},"v":3}\n',
    '{"m":"{\\"x\\":1}","h":{"content-type":"text/plain"},"v":3}\n',
  ],
  [{ kind: 'reused', version: 3 }, '{"v":3}\n', '{"w":3}\n'],
  [
    { kind: 'superseded', by: NEWER },
    '{"c":"superseded","si":"evt_newer"}\n',
    '{"c":"superseded","i":"evt_newer"}\n',
  ],
  [{ kind: 'cancelled', reason: 'dropped' }, '{"c":"dropped"}\n', '{"c":"dropped"}\n'],
])('writes %j, and reads it as the version before has written it', (fact, line, former) => {
  expect(encodeFact(fact)).toBe(line);
  expect(encodeFactIn('former', fact)).toBe(former);
  const before = encodeFact({ kind: 'transformed', transformed: made });
  expect(readLog(before + former)).toEqual(readLog(before + line));
  expect(readLine(former)).toEqual(readLine(line));
});

it('keeps what a line says that has nothing of an answer when the payload is erased', () => {
  for (const line of ['{"c":"superseded","i":"evt_newer"}', '{"w":3}', '{"q":"rdl_1","g":"manual","t":7}']) {
    expect(eraseAnswers(`${line}\n`, 5)).toBe(`{"z":5}\n${line}\n`);
  }
});

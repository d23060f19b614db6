import { encodeFact } from '../model/delivery-line';
import { buildAttempt } from '../testing/build-attempt';
import { readAttemptRow } from './attempt-row';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
const EVENT = 'evt_01m7z10j5c4fq3r52bewgh';
const ENDPOINT = 'wh_01m7ze3thwae6532vdxr7r';

const fact = {
  kind: 'attempted',
  attempt: buildAttempt({ startedAt: ACCEPTED_AT + 5 }),
  nextAttemptAt: undefined,
} as const;

function fieldsWith(change: Readonly<Record<string, string>> = {}): string[] {
  const fields = {
    account: 'acme',
    event: EVENT,
    endpoint: ENDPOINT,
    type: 'keyword.quick_win',
    accepted: String(ACCEPTED_AT),
    status: 'exhausted',
    attempt: encodeFact(fact),
    ...change,
  };
  return Object.entries(fields).flat();
}

it('makes a row with a column for each thing that is on record of the attempt', () => {
  const attempt = buildAttempt({
    number: 2,
    trigger: 'manual',
    worker: 'f00d42',
    startedAt: ACCEPTED_AT + 5,
    timings: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 },
    responseBody: 'oh',
    responseHeaders: { server: 'nginx' },
    addedHeaders: ['x-tenant'],
    error: 'no luck',
  });
  const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: ACCEPTED_AT + 60_000 });
  expect(readAttemptRow(fieldsWith({ attempt: line, status: 'pending' }))).toEqual({
    account_id: 'acme',
    delivery_id: `${EVENT}.${ENDPOINT}`,
    event_id: EVENT,
    webhook_id: ENDPOINT,
    type: 'keyword.quick_win',
    accepted_at: '2026-11-21T12:00:00.000Z',
    status: 'pending',
    next_attempt_at: '2026-11-21T12:01:00.000Z',
    number: 2,
    trigger: 'manual',
    worker: 'f00d42',
    started_at: '2026-11-21T12:00:00.005Z',
    duration_ms: 40,
    dns_ms: 1,
    connect_ms: 2,
    tls_ms: 3,
    first_byte_ms: 4,
    outcome: 'http_5xx',
    added_headers: ['x-tenant'],
    response_status: 500,
    response_headers: { server: 'nginx' },
    response_body: 'oh',
    error: 'no luck',
  });
});

it('replaces what PostgreSQL can not store, wherever it stands, and nothing else', () => {
  const attempt = buildAttempt({
    responseBody: 'a\0b\ud800c\udc00d🚀ü',
    responseHeaders: { server: 'x\0' },
    error: '\udfff',
    addedHeaders: ['x\0'],
  });
  const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: undefined });
  expect(readAttemptRow(fieldsWith({ attempt: line }))).toMatchObject({
    response_body: 'a\uFFFDb\uFFFDc\uFFFDd🚀ü',
    response_headers: { server: 'x\uFFFD' },
    error: '\uFFFD',
    added_headers: ['x\uFFFD'],
  });
});

it.each<[string, string[]]>([
  ['nothing', []],
  ['something else', ['hello', 'world']],
  ['an odd number of parts', ['account']],
  ['no JSON for the attempt', fieldsWith({ attempt: 'oh' })],
  [
    'another fact than an attempt',
    fieldsWith({ attempt: encodeFact({ kind: 'cancelled', reason: 'gone' }) }),
  ],
  ['a time beyond the calendar', fieldsWith({ accepted: '1e300' })],
  ['no id for the endpoint', fieldsWith({ endpoint: 'x' })],
])('throws for %s', (_what, fields) => {
  expect(() => readAttemptRow(fields)).toThrow();
});

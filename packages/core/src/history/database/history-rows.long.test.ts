import * as fc from 'fast-check';
import { ERASED_LOG_START, encodeFact } from '../../domain/delivery-fact';
import type { MovedEvent } from '../../domain/moved-event';
import { buildAttempt } from '../../testing/build-attempt';
import { deliveryLog } from '../../testing/delivery-logs';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { type AttemptColumns, toDeliveryRows, toEventRow, toLog } from './history-rows';

const TYPE = 'keyword.quick_win';

function buildEvent(change: Partial<MovedEvent> = {}): MovedEvent {
  return {
    accountId: uniqueAccountId(),
    id: uniqueEventId(),
    createdAt: 1_700_000_000_000,
    head: { type: TYPE, isAimed: false },
    dataText: '{"a":1}',
    keepDays: 90,
    deliveries: [],
    ...change,
  };
}

const rowsOf = (log: string) => toDeliveryRows(toEventRow(buildEvent()), uniqueEndpointId(), log);

it('gives the log again, byte for byte, that the rows were made of', () => {
  fc.assert(
    fc.property(deliveryLog(TYPE), (log) => {
      const { delivery, attempts } = rowsOf(log);
      expect(toLog(delivery, attempts.toReversed())).toBe(log);
    }),
    { numRuns: 500 },
  );
});

it('puts nothing into columns that PostgreSQL refuses', () => {
  fc.assert(
    fc.property(deliveryLog(TYPE), (log) => {
      const { delivery, attempts } = rowsOf(log);
      expect(JSON.stringify([delivery, attempts])).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/);
    }),
    { numRuns: 500 },
  );
});

it('writes the usual attempt into its columns alone', () => {
  const attempt = buildAttempt({
    worker: 'f00d42',
    timings: { firstByteMs: 30, connectMs: 1 },
    responseHeaders: { server: 'nginx', date: 'today' },
    responseBody: 'oh "no" 🚀',
    addedHeaders: ['x-tenant', 'x-more'],
    contentHeaders: { 'content-type': 'application/cloudevents+json' },
    transformed: { version: 3, body: '{}', headers: {} },
    batchId: 'msg_1',
    tokenError: { status: 400, code: 'invalid_client' },
  });
  const first = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: 1_700_000_009_000, eventType: TYPE });
  const second = encodeFact({
    kind: 'attempted',
    attempt: buildAttempt({ number: 2, startedAt: 1_700_000_009_001 }),
    nextAttemptAt: undefined,
    isAborted: true,
  });
  const { delivery, attempts } = rowsOf(first + second);
  expect(delivery).toMatchObject({
    status: 'aborted',
    attempt_count: 2,
    last_outcome: 'http_5xx',
    response_status: 500,
    last_attempt_at: '2023-11-14T22:13:29.001Z',
    other_lines: '',
  });
  const expected: { readonly [Name in keyof AttemptColumns]?: AttemptColumns[Name] }[] = [
    {
      position: 0,
      number: 1,
      started_at: '2023-11-14T22:13:20.500Z',
      next_attempt_at: '2023-11-14T22:13:29.000Z',
      status: 'pending',
      trigger: 'schedule',
      first_byte_ms: 30,
      connect_ms: 1,
      tls_ms: undefined,
      response_headers: { server: 'nginx', date: 'today' },
      response_body: 'oh "no" 🚀',
      added_headers: ['x-tenant', 'x-more'],
      content_headers: { 'content-type': 'application/cloudevents+json' },
      transform_version: 3,
      batch_id: 'msg_1',
      token_status: 400,
      token_error: 'invalid_client',
      exact: undefined,
    },
    { position: 1, number: 2, status: 'aborted', next_attempt_at: undefined, exact: undefined },
  ];
  expect(attempts).toMatchObject(expected);
});

it('keeps the line itself beside a text that PostgreSQL can not hold', () => {
  const attempt = buildAttempt({ responseBody: 'a\0b\ud800' });
  const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: undefined, eventType: TYPE });
  expect(rowsOf(line).attempts).toMatchObject([{ response_body: 'a\uFFFDb\uFFFD', exact: line.trimEnd() }]);
});

it('leaves out lines that nobody can read', () => {
  const line = encodeFact({ kind: 'cancelled', reason: 'gone' });
  const { delivery, attempts } = rowsOf(`${ERASED_LOG_START}5}\nrubbish\n{"n":1}\n${line}`);
  expect(toLog(delivery, attempts)).toBe(`${ERASED_LOG_START}5}\n${line}`);
});

it('says by which columns an event is found', () => {
  expect(toEventRow(buildEvent())).toMatchObject({
    is_searchable: true,
    data: '{"a":1}',
    erased_at: undefined,
  });
  expect(toEventRow(buildEvent({ dataText: undefined }))).toMatchObject({
    is_searchable: false,
    data: undefined,
  });
});

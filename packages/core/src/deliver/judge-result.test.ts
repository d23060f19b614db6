import type { SentResult } from '../domain/transport';
import { judgeResult, MAX_RETRY_AFTER_MS, parseRetryAfter, readReceiverWish } from './judge-result';

const NOW = Date.parse('1994-11-06T08:49:00Z');
const NOTHING = { aborts: false, disabledBy: undefined };

const responded = (status: number, wish?: string): SentResult => ({
  kind: 'responded',
  status,
  retryAfter: undefined,
  wish,
  body: '',
  timings: {},
});

describe('judgeResult', () => {
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
  ])('judges a response with status %d as %s', (status, outcome) => {
    expect(judgeResult(responded(status))).toBe(outcome);
  });

  it.each(['dns_error', 'connect_refused', 'response_timeout', 'tls_error'] as const)(
    'takes the reason %s of a failure as it is',
    (reason) => {
      expect(judgeResult({ kind: 'failed', reason, error: 'why', timings: {} })).toBe(reason);
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
    expect(readReceiverWish(responded(status, wish), false)).toEqual(expected);
  });
});

describe('a receiver that accepts', () => {
  it('can not abort what was delivered', () => {
    expect(readReceiverWish(responded(204, 'abort'), true)).toEqual(NOTHING);
  });

  it('can disable its endpoint', () => {
    expect(readReceiverWish(responded(200, 'disable'), true)).toEqual({
      aborts: false,
      disabledBy: 'receiver',
    });
  });
});

it('nothing is wished without a response', () => {
  const failed: SentResult = { kind: 'failed', reason: 'dns_error', error: 'no', timings: {} };
  expect(readReceiverWish(failed, false)).toEqual(NOTHING);
});

describe('parseRetryAfter', () => {
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
    expect(parseRetryAfter(header, NOW)).toBe(waitMs);
  });

  it.each([
    '86401',
    '99999999999999999999',
    '9'.repeat(400),
    'Mon, 07 Nov 1994 08:49:01 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
  ])('cuts "%s" to a day', (header) => {
    expect(parseRetryAfter(header, NOW)).toBe(MAX_RETRY_AFTER_MS);
  });

  it('waits for nothing when its time has passed', () => {
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:48:59 GMT', NOW)).toBe(0);
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:00 GMT', NOW)).toBe(0);
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
    expect(parseRetryAfter(header, NOW)).toBe(0);
  });
});

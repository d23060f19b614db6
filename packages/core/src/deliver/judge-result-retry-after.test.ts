import { MAX_RETRY_AFTER_MS, parseRetryAfter } from './decide-next';

const NOW = Date.parse('1994-11-06T08:49:00Z');

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

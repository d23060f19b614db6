import { readReceiverWish } from './decide-next';
import type { SentResult } from './transport';

const answered = (status: number, wish?: string): SentResult => ({
  kind: 'answered',
  status,
  retryAfter: undefined,
  wish,
  body: '',
  timings: {},
});
const NOTHING = { aborts: false, disabledBy: undefined };

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
    expect(readReceiverWish(answered(status, wish), false)).toEqual(expected);
  });
});

describe('a receiver that accepts', () => {
  it('can not abort what was delivered', () => {
    expect(readReceiverWish(answered(204, 'abort'), true)).toEqual(NOTHING);
  });

  it('can disable its endpoint', () => {
    expect(readReceiverWish(answered(200, 'disable'), true)).toEqual({
      aborts: false,
      disabledBy: 'receiver',
    });
  });
});

it('nothing is wished without an answer', () => {
  const failed: SentResult = { kind: 'failed', reason: 'dns_error', error: 'no', timings: {} };
  expect(readReceiverWish(failed, false)).toEqual(NOTHING);
});

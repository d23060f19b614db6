import type { Attempt } from '../../api/delivery-queries';
import { isAsAsked } from './is-as-asked';

const attemptThatSays = (retryAfter?: string) =>
  ({
    started_at: '2030-01-31T12:00:00.000Z',
    duration_ms: 1_000,
    response_headers: retryAfter === undefined ? null : { 'retry-after': retryAfter },
  }) as unknown as Attempt;

it.each([
  ['in so many seconds', '30', '2030-01-31T12:00:31.200Z', true],
  ['at a time', 'Thu, 31 Jan 2030 12:05:00 GMT', '2030-01-31T12:05:00.000Z', true],
  ['sooner than the schedule allows', '30', '2030-01-31T12:10:00.000Z', false],
  ['for what is no time', 'soon', '2030-01-31T12:00:31.000Z', false],
  ['for nothing', undefined, '2030-01-31T12:00:31.000Z', false],
])('when the receiver asked %s', (_what, retryAfter, dueAt, expected) => {
  expect(isAsAsked(attemptThatSays(retryAfter), dueAt)).toBe(expected);
});

import type { Signal } from '../domain/signal';
import { AppError, type ErrorCode } from '../platform/app-error';
import { storageUnavailable } from '../platform/redis-errors';
import { signalSamples } from '../testing/signal-samples';
import { RefusedRequests } from './refused-requests';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function arrange() {
  const passed: Signal[] = [];
  const refused = new RefusedRequests((signal) => passed.push(signal));
  let requests = 0;
  const fail = (error: unknown) =>
    refused.listen({ name: 'request.failed', requestId: `req_${(requests += 1)}`, error });
  return { refused, passed, fail };
}

const away = () => storageUnavailable(new Error('connect ECONNREFUSED'));

it('passes on one line a second with the number of requests, and the cause and id of the first', () => {
  const { passed, fail } = arrange();
  for (let i = 0; i < 500; i += 1) fail(away());
  expect(passed).toEqual([]);
  jest.advanceTimersByTime(1_000);
  expect(passed).toEqual([
    {
      name: 'requests.refused',
      code: 'storage_unavailable',
      count: 500,
      requestId: 'req_1',
      detail: expect.stringMatching(/^Redis can't be reached.* ← connect ECONNREFUSED$/),
    },
  ]);
  expect(JSON.stringify(passed)).not.toContain('    at ');
  fail(away());
  jest.advanceTimersByTime(1_000);
  expect(passed.at(-1)).toMatchObject({ count: 1, requestId: 'req_501' });
  jest.advanceTimersByTime(60_000);
  expect(passed).toHaveLength(2);
});

it.each<ErrorCode>(['storage_unavailable', 'history_unavailable', 'clock_skewed'])(
  'counts %s apart from the others',
  (code) => {
    const { passed, fail } = arrange();
    fail(new AppError(code, 'It is away.'));
    fail(new AppError(code, 'It is away.'));
    fail(new AppError(code === 'clock_skewed' ? 'storage_unavailable' : 'clock_skewed', 'Another one.'));
    jest.advanceTimersByTime(1_000);
    expect(passed).toMatchObject([
      { code, count: 2, detail: 'It is away.' },
      { count: 1, detail: 'Another one.' },
    ]);
  },
);

it('passes on each fault of the service at once, as it is, and all other signals', () => {
  const { passed, fail } = arrange();
  const others = [new Error('a bug'), new AppError('internal_error', 'A bug.'), 'no error'];
  for (const error of others) fail(error);
  expect(passed.map((signal) => signal.name === 'request.failed' && signal.error)).toEqual(others);
});

it('passes on what it has counted when it stops', async () => {
  const { refused, passed, fail } = arrange();
  refused.listen(signalSamples['request.completed']);
  fail(away());
  await refused.stop();
  await refused.stop();
  expect(passed).toMatchObject([signalSamples['request.completed'], { name: 'requests.refused', count: 1 }]);
  jest.advanceTimersByTime(5_000);
  expect(passed).toHaveLength(2);
});

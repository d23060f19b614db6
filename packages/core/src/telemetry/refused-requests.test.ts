import type { AccountId } from '../domain/account';
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

it('passes on fifty refusals a second without a key, the number of the rest, and all others', () => {
  const { refused, passed } = arrange();
  const { accountId: _account, keyId: _key, ...keyless } = signalSamples['request.completed'];
  const refuse = (count: number, more: Partial<typeof keyless> & { accountId?: AccountId } = {}) => {
    for (let i = 0; i < count; i += 1)
      refused.listen({ ...keyless, status: 401, code: 'unauthenticated', ...more });
  };
  refuse(40);
  refuse(1_000, { status: 404, code: 'route_not_found' });
  refuse(30);
  expect(passed).toHaveLength(50);
  const { accountId } = signalSamples['request.completed'];
  const others = [
    { accountId },
    { status: 200, code: undefined },
    { status: 500, code: 'internal_error' },
  ] as const;
  for (const other of others) refuse(60, other as Parameters<typeof refuse>[1]);
  expect(passed).toHaveLength(50 + 3 * 60);
  jest.advanceTimersByTime(1_000);
  expect(passed.slice(50 + 3 * 60)).toEqual([
    { name: 'requests.left_out', code: 'route_not_found', count: 990 },
    { name: 'requests.left_out', code: 'unauthenticated', count: 30 },
  ]);
  refuse(50);
  jest.advanceTimersByTime(60_000);
  expect(passed).toHaveLength(50 + 3 * 60 + 2 + 50);
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

import { judgeResult } from './judge-result';

const answered = (status: number) =>
  ({ kind: 'answered', status, retryAfter: undefined, wish: undefined, body: '', timings: {} }) as const;

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
  ])('judges an answer with status %d as %s', (status, outcome) => {
    expect(judgeResult(answered(status))).toBe(outcome);
  });

  it.each(['dns_error', 'connect_refused', 'response_timeout', 'tls_error'] as const)(
    'takes the reason %s of a failure as it is',
    (reason) => {
      expect(judgeResult({ kind: 'failed', reason, error: 'why', timings: {} })).toBe(reason);
    },
  );
});

import { judgeAnswer, judgePermission } from './verify-endpoint';

const VERIFIED = { kind: 'verified' };

describe('an answer to a challenge', () => {
  it('proves it with the challenge as a member of its own', () => {
    expect(judgeAnswer('{"challenge":"abc","more":1}', 'abc')).toEqual(VERIFIED);
  });

  it.each([
    '',
    'abc',
    '"abc"',
    'null',
    '{}',
    '["abc"]',
    '{"challenge":"abcd"}',
    '{"challenge":"abd"}',
    '{"challenge":["abc"]}',
    '{"data":{"challenge":"abc"}}',
  ])('proves nothing by %j', (body) => {
    expect(judgeAnswer(body, 'abc')).toEqual({ kind: 'failed', error: 'challenge_mismatch' });
  });
});

describe('a permission', () => {
  it.each([
    ['*', undefined, VERIFIED],
    [' Hooks.Example.com ', '*', VERIFIED],
    ['*', '60', { ...VERIFIED, allowedRate: 60 }],
    ['*', ' 120 ', { ...VERIFIED, allowedRate: 120 }],
  ])('is granted by the origin %j with the rate %j', (origin, rate, result) => {
    expect(judgePermission({ origin, rate }, 'hooks.example.com')).toEqual(result);
  });

  it.each([
    [undefined, undefined, 'not_allowed'],
    ['other.example.com', undefined, 'not_allowed'],
    ['hooks.example.com.evil.example', undefined, 'not_allowed'],
    ['*', '0', 'not_allowed'],
    ['*', '-1', 'not_allowed'],
    ['*', 'many', 'not_allowed'],
    ['*', '1', 'rate_too_low'],
    ['*', '59', 'rate_too_low'],
  ])('is not by the origin %j with the rate %j', (origin, rate, error) => {
    expect(judgePermission({ origin, rate }, 'hooks.example.com')).toEqual({ kind: 'failed', error });
  });
});

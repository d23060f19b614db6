import { allowanceSchema } from './allowance';

describe('allowanceSchema', () => {
  it.each([
    ['1000/1s', { count: 1_000, windowMs: 1_000 }],
    ['20/1m', { count: 20, windowMs: 60_000 }],
    ['1/2000ms', { count: 1, windowMs: 2_000 }],
    ['off', undefined],
  ])('reads %s', (text, allowance) => {
    expect(allowanceSchema.parse(text)).toEqual(allowance);
  });

  it.each([
    '',
    '1000',
    '0/1s',
    '-1/1s',
    '1.5/1s',
    '1e3/1s',
    '10/0s',
    '10/500ms',
    '10/1500ms',
    '10/s',
    '10 / 1s',
    'OFF',
  ])('refuses "%s"', (text) => {
    expect(allowanceSchema.safeParse(text).success).toBe(false);
  });
});

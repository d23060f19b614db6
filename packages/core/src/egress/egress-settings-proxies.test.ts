import { trustProxySchema } from './egress-settings';

describe('trustProxySchema', () => {
  it.each([
    ['off', 0],
    ['1', 1],
    ['12', 12],
    ['10.1.0.0/16', ['10.1.0.0/16']],
    ['10.1.0.0/16, fd00::/8', ['10.1.0.0/16', 'fd00::/8']],
  ])('reads %s', (text, trusted) => {
    expect(trustProxySchema.parse(text)).toEqual(trusted);
  });

  it.each([
    '',
    '0',
    '-1',
    '1.5',
    '100',
    'true',
    'loopback',
    '10.1.0.1',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '10.0.0.0/8,::/0',
  ])('refuses "%s"', (text) => {
    expect(trustProxySchema.safeParse(text).success).toBe(false);
  });
});

import { originOf } from './request-state';

describe('request origin', () => {
  it.each([
    ['hooks.example.com', 'https://hooks.example.com'],
    ['Hooks.Example.com:8443', 'https://hooks.example.com:8443'],
    ['my_api:3000', 'https://my_api:3000'],
    ['127.0.0.1:3000', 'https://127.0.0.1:3000'],
    ['[2001:DB8::1]:3000', 'https://[2001:db8::1]:3000'],
    ['localhost', 'https://localhost'],
  ])('is %s as it was named', (host, origin) => {
    expect(originOf({ protocol: 'https', host })).toBe(origin);
  });

  it.each([
    '',
    ' ',
    'a b',
    'a"><script>alert(1)</script>',
    'hooks.example.com/path',
    'hooks.example.com#code=whc_',
    'hooks.example.com?x',
    'user@hooks.example.com',
    'user:password@hooks.example.com:80',
    'hooks.example.com:',
    'hooks.example.com:80:80',
    'hooks.example.com:65536',
    'hooks.example.com:8o',
    'a..b',
    '.example.com',
    '-.example.com',
    'exämple.com',
    'a%2fb',
    'a\\b',
    "a'b",
    '[::1',
    '[1:2]',
    '[::1]x',
    '2001:db8::1',
    'a'.repeat(300),
  ])('is refused for %j', (host) => {
    expect(() => originOf({ protocol: 'https', host })).toThrow(
      expect.objectContaining({ code: 'malformed_request' }),
    );
  });
});

import { proxyUrlSchema } from './proxy-url';

it.each([
  ['http://proxy:3128', { protocol: 'http:', host: 'proxy', port: 3128, authorization: undefined }],
  ['http://10.0.0.5', { protocol: 'http:', host: '10.0.0.5', port: 80, authorization: undefined }],
  ['https://[fd00::1]/', { protocol: 'https:', host: 'fd00::1', port: 443, authorization: undefined }],
  [
    'https://user:p%40ss%3A%2F@proxy.example:8443',
    {
      protocol: 'https:',
      host: 'proxy.example',
      port: 8443,
      authorization: `Basic ${Buffer.from('user:p@ss:/').toString('base64')}`,
    },
  ],
])('takes %s', (text, expected) => {
  expect(proxyUrlSchema.parse(text)).toEqual(expected);
});

it.each([
  'proxy:3128',
  'socks5://user:hidden@proxy:1080',
  'http://user:hidden@proxy/path',
  'http://user:hidden@proxy?x=1',
  'http://user:hidden@proxy#x',
  'http://user:hidden%zz@proxy',
  'http://',
])('refuses %s, and does not repeat what may hold a password', (text) => {
  const { error } = proxyUrlSchema.safeParse(text);
  expect(error?.issues).toHaveLength(1);
  expect(JSON.stringify(error?.issues)).not.toContain('hidden');
});

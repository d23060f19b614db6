import { cidrListSchema, proxyUrlSchema, sourceAddressesSchema, trustProxySchema } from './egress-settings';

describe('egress settings', () => {
  describe('cidrListSchema', () => {
    it.each([
      ['10.0.0.0/8', ['10.0.0.0/8']],
      ['127.0.0.0/8,::1/128', ['127.0.0.0/8', '::1/128']],
      [' 10.0.0.0/8 , fd00::/8 ', ['10.0.0.0/8', 'fd00::/8']],
      ['127.0.0.1/8', ['127.0.0.1/8']],
      ['0.0.0.0/0,::/0', ['0.0.0.0/0', '::/0']],
    ])('reads %j', (text, ranges) => {
      expect(cidrListSchema.parse(text)).toEqual(ranges);
    });

    // ipaddr.js by itself would take 10/8 for 0.0.0.10/8.
    it.each([
      '',
      ',',
      '10/8',
      '10.0/8',
      '012.0.0.0/8',
      '0x0a000000/8',
      '10.0.0.1',
      '10.0.0.0/',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0.0/255.0.0.0',
      '10.0.0.0 /8',
      'fd00::/129',
      'fe80::1%eth0/64',
      '[fd00::]/8',
      'localhost',
      'localhost/8',
      '*',
    ])('refuses %j, and says what a range looks like', (text) => {
      const [issue] = cidrListSchema.safeParse(text).error?.issues ?? [];
      expect(issue).toMatchObject({
        path: [0],
        message: `"${text.split(',')[0]}" is not a range such as 10.1.0.0/16 or fd00::/8 (one address: 10.1.2.3/32, fd00::1/128)`,
      });
    });

    it('names each entry that is no range', () => {
      const { error } = cidrListSchema.safeParse('10.0.0.0/8,private,::1/128,10/8');
      expect(error?.issues.map(({ path }) => path)).toEqual([[1], [3]]);
    });
  });
});

describe('source addresses', () => {
  it.each([
    ['203.0.113.0/28', ['203.0.113.0/28']],
    [' 203.0.113.7/32 , 2001:db8::/33', ['203.0.113.7/32', '2001:db8::/33']],
    ['128.0.0.0/1,2001:db8:0:8000::/49', ['128.0.0.0/1', '2001:db8:0:8000::/49']],
  ])('reads %j', (text, ranges) => {
    expect(sourceAddressesSchema.parse(text)).toEqual(ranges);
  });

  it.each([
    ['203.0.113.7', 'is not a range'],
    ['', 'is not a range'],
    ['203.0.113.7/28', "has bits beyond its prefix: write the range's first address"],
    ['2001:db8::1/127', "has bits beyond its prefix: write the range's first address"],
    ['0.0.0.0/0', 'is every address there is: name those that deliveries come from'],
    ['::/0', 'is every address there is: name those that deliveries come from'],
  ])('refuses %j, and says why', (text, why) => {
    const [issue] = sourceAddressesSchema.safeParse(text).error?.issues ?? [];
    expect(issue?.message).toContain(`"${text}" ${why}`);
  });
});

describe('proxy url', () => {
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

    it.each(['yes', '0.0.0.0/0'])('names each form to somebody who wrote %s', (text) => {
      const [issue] = trustProxySchema.safeParse(text).error?.issues ?? [];
      expect(issue?.message).toMatch(/off, the number of proxies .*, or their address ranges/);
    });
  });
});

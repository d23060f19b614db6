import { AddressPolicy } from '../deliver/egress/address-policy';
import { buildTargetUrlRules } from '../testing/build-target-url-rules';
import { targetUrlSchema } from './target-url';

const https = targetUrlSchema(buildTargetUrlRules());
const any = targetUrlSchema(buildTargetUrlRules({ allowHttp: true }));

describe('targetUrlSchema', () => {
  it.each([
    ['https://example.com', 'https://example.com/'],
    ['https://example.com/hooks?a=1&b=2', 'https://example.com/hooks?a=1&b=2'],
    ['HTTPS://Example.COM:443/Hooks', 'https://example.com/Hooks'],
    ['https://example.com:8443/a/../b', 'https://example.com:8443/b'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://example.com/ä b', 'https://example.com/%C3%A4%20b'],
    ['  https://example.com/\n', 'https://example.com/'],
  ])('takes %j as %s', (text, href) => {
    expect(https.parse(text)).toBe(href);
  });

  it.each([
    ['', 'must be an absolute URL such as https://example.com/webhooks'],
    ['example.com/hooks', 'must be an absolute URL such as https://example.com/webhooks'],
    ['//example.com/hooks', 'must be an absolute URL such as https://example.com/webhooks'],
    ['https://', 'must be an absolute URL such as https://example.com/webhooks'],
    ['https://exa mple.com', 'must be an absolute URL such as https://example.com/webhooks'],
    ['https://example.com:99999', 'must be an absolute URL such as https://example.com/webhooks'],
    ['https://256.256.256.256/', 'must be an absolute URL such as https://example.com/webhooks'],
    ['ftp://example.com', 'must be a URL that begins with https:// or http://'],
    ['javascript:alert(1)', 'must be a URL that begins with https:// or http://'],
    ['file:///etc/passwd', 'must be a URL that begins with https:// or http://'],
    ['unix:/var/run/docker.sock', 'must be a URL that begins with https:// or http://'],
    ['http://example.com', 'must be a URL that begins with https:// (ALLOW_HTTP_URLS permits http://)'],
    ['https://ada@example.com', 'must not contain a user name or password'],
    ['https://ada:secret@example.com', 'must not contain a user name or password'],
    ['https://:secret@example.com', 'must not contain a user name or password'],
    ['https://example.com/#part', 'must not have a fragment'],
    ['https://example.com/#', 'must not have a fragment'],
  ])('refuses %j: it %s', (text, message) => {
    expect(https.safeParse(text).error?.issues).toMatchObject([{ message }]);
  });

  it('takes http only where the rules allow it', () => {
    expect(any.parse('http://example.com')).toBe('http://example.com/');
    expect(any.safeParse('ftp://example.com').success).toBe(false);
  });

  it('takes 2048 characters at most, before and after it is encoded', () => {
    const start = 'https://example.com/';
    expect(https.safeParse(start.padEnd(2_048, 'a')).success).toBe(true);
    expect(https.safeParse(start.padEnd(2_049, 'a')).error?.issues).toMatchObject([
      { message: 'must have at most 2048 characters' },
    ]);
    expect(https.safeParse(start.padEnd(1_000, 'ä')).error?.issues).toMatchObject([
      { message: 'must have at most 2048 characters once it is encoded' },
    ]);
  });
});

function faultIn(url: string, schema = any): string | undefined {
  return schema.safeParse(url).error?.issues[0]?.message;
}

describe('a literal address', () => {
  const refused = (address: string, reason: string) =>
    `must not lead to ${address}, which is not a public address: ${reason} (the operator can allow it: DELIVERY_ALLOWED_CIDRS)`;

  it.each([
    ['as it is', 'http://127.0.0.1/', '127.0.0.1', 'loopback'],
    ['with a port', 'http://127.0.0.1:8080/', '127.0.0.1', 'loopback'],
    ['with a trailing dot', 'http://127.0.0.1./', '127.0.0.1', 'loopback'],
    ['with an encoded dot', 'http://127%2e0%2e0%2e1/', '127.0.0.1', 'loopback'],
    ['with all of it encoded', 'http://%31%32%37%2e%30%2e%30%2e%31/', '127.0.0.1', 'loopback'],
    ['after back slashes', 'http:\\\\127.0.0.1\\', '127.0.0.1', 'loopback'],
    ['without slashes', 'http:127.0.0.1', '127.0.0.1', 'loopback'],
    ['behind a tab', 'http://127.0\t.0.1/', '127.0.0.1', 'loopback'],
    ['short', 'http://127.1/', '127.0.0.1', 'loopback'],
    ['in three parts', 'http://127.0.1/', '127.0.0.1', 'loopback'],
    ['as a number', 'http://2130706433/', '127.0.0.1', 'loopback'],
    ['as a number in hex', 'http://0x7f000001/', '127.0.0.1', 'loopback'],
    ['as a number in upper-case hex', 'http://0X7F000001/', '127.0.0.1', 'loopback'],
    ['as an octal number', 'http://017700000001/', '127.0.0.1', 'loopback'],
    ['in octal', 'http://0177.0.0.1/', '127.0.0.1', 'loopback'],
    ['in octal with many zeros', 'http://0000000177.0.0.01/', '127.0.0.1', 'loopback'],
    ['in hex', 'http://0x7f.0x0.0x0.0x1/', '127.0.0.1', 'loopback'],
    ['in hex, short', 'http://0x7f.1/', '127.0.0.1', 'loopback'],
    ['in a mixture', 'http://0x7f.0.0.01/', '127.0.0.1', 'loopback'],
    ['in full-width digits', 'http://１２７.０.０.１/', '127.0.0.1', 'loopback'],
    ['in circled digits', 'http://①②⑦.⓪.⓪.①/', '127.0.0.1', 'loopback'],
    ['with ideographic dots', 'http://127。0。0。1/', '127.0.0.1', 'loopback'],
    ['with half-width ideographic dots', 'http://127｡0｡0｡1/', '127.0.0.1', 'loopback'],
    ['with a soft hyphen', 'http://127.0.0.\u00ad1/', '127.0.0.1', 'loopback'],
    ['zero', 'http://0/', '0.0.0.0', 'unspecified'],
    ['metadata', 'http://169.254.169.254/latest/meta-data/', '169.254.169.254', 'cloud_metadata'],
    ['metadata as a number', 'http://2852039166/', '169.254.169.254', 'cloud_metadata'],
    ['metadata in hex', 'http://0xa9.0xfe.0xa9.0xfe/', '169.254.169.254', 'cloud_metadata'],
    ['metadata in octal', 'http://0251.0376.0251.0376/', '169.254.169.254', 'cloud_metadata'],
    ['metadata, short', 'http://169.254.43518/', '169.254.169.254', 'cloud_metadata'],
    ['private', 'http://10.0.0.1/', '10.0.0.1', 'private'],
    ['private, short', 'http://192.168.257/', '192.168.1.1', 'private'],
    ['broadcast as a number', 'http://4294967295/', '255.255.255.255', 'reserved'],
    ['of IPv6', 'http://[::1]/', '::1', 'loopback'],
    ['of IPv6, spelled out', 'http://[0000:0:0:0:0:0:0:0001]:8080/', '::1', 'loopback'],
    ['of IPv6, unspecified', 'http://[::]/', '::', 'unspecified'],
    ['mapped', 'http://[::ffff:127.0.0.1]/', '::ffff:7f00:1', 'transition'],
    ['mapped metadata', 'http://[::ffff:a9fe:a9fe]/', '::ffff:a9fe:a9fe', 'transition'],
    ['compatible', 'http://[::127.0.0.1]/', '::7f00:1', 'transition'],
    ['of NAT64', 'http://[64:ff9b::169.254.169.254]/', '64:ff9b::a9fe:a9fe', 'transition'],
    ['of 6to4', 'http://[2002:7f00:1::]/', '2002:7f00:1::', 'transition'],
    ['of ISATAP', 'http://[2600:1f18::5efe:10.0.0.1]/', '2600:1f18::5efe:a00:1', 'transition'],
    ['unique local', 'http://[fd00::1]/', 'fd00::1', 'private'],
    ['link-local', 'http://[fe80::1]/', 'fe80::1', 'link_local'],
  ])('%s is refused where it is not public: %j', (_what, url, address, reason) => {
    expect(faultIn(url)).toBe(refused(address, reason));
  });

  it.each([
    ['http://8.8.8.8/', 'http://8.8.8.8/'],
    ['http://134744072/', 'http://8.8.8.8/'],
    ['https://[2606:2800:220::1]:8443/x', 'https://[2606:2800:220::1]:8443/x'],
  ])('is taken where it is public: %s', (url, href) => {
    expect(any.parse(url)).toBe(href);
  });

  it.each([
    'http://127.0.0.256/',
    'http://127.0.0.0.1/',
    'http://4294967296/',
    'http://0x100000000/',
    'http://1.2.3.08/',
    'http://example.1/',
    'http://[::1%25lo]/',
    'http://[fe80::1%eth0]/',
    'http://[127.0.0.1]/',
    'http://[::1/',
    'http://::1/',
    'http://127.0.0.1%00.example.com/',
    'http://example.com%2f@127.0.0.1%2f/',
  ])('is no URL where it has no meaning: %s', (url) => {
    expect(faultIn(url)).toBe('must be an absolute URL such as https://example.com/webhooks');
  });

  it.each([
    'http://example.com@127.0.0.1/',
    'http://127.0.0.1@example.com/',
    'http://127.0.0.1:80@example.com/',
    'http://a:b@[::1]/',
    'http://example.com:80%40127.0.0.1@example.com/',
  ])('may not hide behind, or as, a user name: %s', (url) => {
    expect(faultIn(url)).toBe('must not contain a user name or password');
  });

  it('is what comes after the last @, before anything else', () => {
    expect(faultIn('http://127.0.0.1\\@example.com/')).toBe(refused('127.0.0.1', 'loopback'));
    expect(faultIn('http://127.0.0.1/@example.com/')).toBe(refused('127.0.0.1', 'loopback'));
    expect(faultIn('http://127.0.0.1?@example.com/')).toBe(refused('127.0.0.1', 'loopback'));
  });

  it('is taken where the operator makes an exception, and refused where the operator denies it', () => {
    const addressPolicy = new AddressPolicy({
      allowedCidrs: ['10.1.0.0/16'],
      deniedCidrs: ['8.8.8.0/24'],
    });
    const schema = targetUrlSchema(buildTargetUrlRules({ addressPolicy }));
    expect(schema.parse('https://10.1.2.3/')).toBe('https://10.1.2.3/');
    expect(faultIn('https://10.2.0.0/', schema)).toBe(refused('10.2.0.0', 'private'));
    expect(faultIn('https://8.8.8.8/', schema)).toBe(
      'must not lead to 8.8.8.8, which DELIVERY_DENIED_CIDRS denies',
    );
  });
});

describe('a name', () => {
  const internal = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'ⓛocalhost',
    'foo.localhost',
    'localhost.localdomain',
    'redis',
    'db.',
    'a',
    'metadata.google.internal',
    'METADATA.GOOGLE.INTERNAL.',
    'instance-data.ec2.internal',
    'host.docker.internal',
    'printer.local',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'router.lan',
    'nas.home',
    'nas.home.arpa',
    'mail.corp',
    'wiki.intranet',
    'x.private',
  ];

  it.each(internal)('is refused where it is internal: %s', (name) => {
    const { hostname } = new URL(`http://${name}`);
    expect(faultIn(`http://${name}/`)).toBe(
      `must not lead to ${hostname}, which is not a public name (the operator can allow it: DELIVERY_ALLOWED_CIDRS)`,
    );
  });

  it.each(internal)('is taken where the rules allow internal ones: %s', (name) => {
    const schema = targetUrlSchema(buildTargetUrlRules({ allowInternalNames: true }));
    expect(schema.safeParse(`https://${name}/`).success).toBe(true);
  });

  it.each([
    'example.com',
    'example.com.',
    'local.example.com',
    'internal.example.com',
    'localhost.example.com',
    'mylocal.dev',
    'thecorp.com',
    'xn--bcher-kva.example',
    // Where these lead is found out when connecting.
    '127.0.0.1.nip.io',
    'localtest.me',
  ])('is taken where it may be public: %s', (name) => {
    expect(any.safeParse(`http://${name}/`).success).toBe(true);
  });

  it.each(['.', '..', '.example.com', 'example..com', 'example.com..', '127.0.0.1..'])(
    'is refused where it has an empty part: %s',
    (name) => {
      const schema = targetUrlSchema(buildTargetUrlRules({ allowInternalNames: true }));
      expect(faultIn(`https://${name}/`, schema)).toBe(`must not lead to ${name}, which is not a host name`);
    },
  );
});

describe('a port', () => {
  it.each([0, 1, 22, 23, 25, 53, 110, 143, 389, 465, 587, 636, 993, 2049, 6000, 6379, 6667, 10080, 11211])(
    'is refused where something else than HTTP listens: %d',
    (port) => {
      expect(faultIn(`https://example.com:${port}/`)).toBe(
        `must not use port ${port}, which belongs to another protocol`,
      );
      expect(faultIn(`https://example.com:000${port}/`)).toBeDefined();
    },
  );

  it.each([80, 443, 3000, 4000, 8000, 8080, 8443, 9000, 65535])('is taken otherwise: %d', (port) => {
    expect(any.safeParse(`http://example.com:${port}/`).success).toBe(true);
    expect(any.safeParse(`https://example.com:${port}/`).success).toBe(true);
  });
});

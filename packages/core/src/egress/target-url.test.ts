import { targetUrlSchema } from './target-url';

const https = targetUrlSchema({ allowHttp: false });
const any = targetUrlSchema({ allowHttp: true });

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
    ['ftp://example.com', 'must be an http(s) URL'],
    ['javascript:alert(1)', 'must be an http(s) URL'],
    ['file:///etc/passwd', 'must be an http(s) URL'],
    ['unix:/var/run/docker.sock', 'must be an http(s) URL'],
    ['http://example.com', 'must be an https URL (ALLOW_HTTP_URLS permits http)'],
    ['https://ada@example.com', 'must not hold a user name or password'],
    ['https://ada:secret@example.com', 'must not hold a user name or password'],
    ['https://:secret@example.com', 'must not hold a user name or password'],
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

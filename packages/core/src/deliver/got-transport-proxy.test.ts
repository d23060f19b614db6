import { createServer } from 'node:https';
import type { TlsMaterial } from '../domain/transport';
import { buildGuard } from '../testing/build-guard';
import { buildTransportOptions } from '../testing/build-transport-options';
import { CertificateAuthority, hasOpenssl } from '../testing/certificate-authority';
import { type ConnectProxyOptions, startConnectProxy } from '../testing/connect-proxy';
import { findClosedPort, listen, startHttpServer, startTcpServer } from '../testing/local-server';
import { TransportScene } from '../testing/transport-scene';
import { type EgressProxy, proxyUrlSchema } from './egress/egress-settings';
import { DirectRoute, ProxyRoute } from './egress/routes';
import { type GotTransportOptions } from './got-transport';

const SHORT_MS = 200;
const PASSWORD = 'pass word/%';

const scene = new TransportScene();
afterEach(scene.clear);

interface SenderOptions extends Partial<GotTransportOptions> {
  readonly allowedCidrs?: readonly string[];
  readonly tls?: TlsMaterial;
}

/** Sends through a proxy, to wherever it leads by itself; literal addresses of this machine are allowed. */
function sender(proxy: EgressProxy, { allowedCidrs, tls, ...change }: SenderOptions = {}) {
  const options = buildTransportOptions(change);
  const guard = buildGuard(allowedCidrs ? { allowedCidrs } : {});
  const route = new ProxyRoute({ ...guard, proxy, connectTimeoutMs: options.connectTimeoutMs });
  return scene.sender({ ...options, route }, tls && { tls });
}

async function startProxy(options: ConnectProxyOptions = {}) {
  return scene.willClose(await startConnectProxy(options));
}

const at = (port: number): EgressProxy => proxyUrlSchema.parse(`http://127.0.0.1:${port}`);
const MS = expect.any(Number);

describe('a delivery by a proxy', () => {
  it('goes through a tunnel, over http too, to the name that the proxy looks up', async () => {
    const receiver = await scene.startReceiver();
    const proxy = await startProxy();
    const result = await sender(at(proxy.port))(`http://hooks.example.com:${receiver.port}/`);
    expect(result).toMatchObject({ kind: 'responded', status: 204 });
    expect(result).toHaveProperty('timings', { connectMs: MS, firstByteMs: MS });
    expect(result).toHaveProperty('remoteAddress', undefined);
    expect(proxy.asked).toEqual([`hooks.example.com:${receiver.port}`]);
  });

  it('uses a tunnel again', async () => {
    const receiver = await scene.startReceiver();
    const proxy = await startProxy();
    const send = sender(at(proxy.port));
    await send(`http://hooks.example.com:${receiver.port}/`);
    expect(await send(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({
      timings: { firstByteMs: MS },
      remoteAddress: undefined,
    });
    expect(proxy.asked).toHaveLength(1);
    expect(receiver.connectionCount()).toBe(1);
  });

  it('has a tunnel of its own for each origin', async () => {
    const [one, other] = [await scene.startReceiver(), await scene.startReceiver()];
    const proxy = await startProxy();
    const send = sender(at(proxy.port));
    await send(`http://a.example.com:${one.port}/`);
    await send(`http://a.example.com:${other.port}/`);
    await send(`http://b.example.com:${one.port}/`);
    expect(proxy.asked).toEqual([
      `a.example.com:${one.port}`,
      `a.example.com:${other.port}`,
      `b.example.com:${one.port}`,
    ]);
  });

  it('says who we are to the proxy, and to nobody else', async () => {
    let shown: string | undefined;
    const proxy = await startProxy({
      answer: ({ headers }) => {
        shown = headers['proxy-authorization'];
        return 200;
      },
    });
    let received: object = {};
    const receiver = scene.willClose(
      await startHttpServer(({ headers }, response) => {
        received = headers;
        response.end();
      }),
    );
    const url = `http://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`;
    await sender(proxyUrlSchema.parse(url))(`http://hooks.example.com:${receiver.port}/`);
    expect(shown).toBe(`Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`);
    expect(Object.keys(received)).not.toContain('proxy-authorization');
  });

  it.each(['http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'http://[::1]:1/', 'http://2130706433:1/'])(
    'does not get to ask for a literal address that is not public: %s',
    async (url) => {
      const proxy = await startProxy();
      expect(await sender(at(proxy.port), { allowedCidrs: [] })(url)).toMatchObject({
        kind: 'failed',
        reason: 'blocked_address',
      });
      expect(proxy.asked).toEqual([]);
    },
  );

  it('puts a literal IPv6 address into brackets', async () => {
    const proxy = await startProxy({ answer: () => 403 });
    await sender(at(proxy.port))('http://[::1]:8443/');
    expect(proxy.asked).toEqual(['[::1]:8443']);
  });

  it('is sent again at once over a new tunnel when the receiver closed the old one', async () => {
    let requests = 0;
    const receiver = scene.willClose(
      await startHttpServer(({ socket }, response) => {
        requests += 1;
        if (requests === 2) socket.destroy();
        else response.writeHead(204).end();
      }),
    );
    const proxy = await startProxy();
    const send = sender(at(proxy.port), { staleWithinMs: 60_000 });
    await send(`http://hooks.example.com:${receiver.port}/`);
    expect(await send(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 204 });
    expect([requests, proxy.asked.length]).toEqual([3, 2]);
  });
});

describe('a fault of the proxy leaves the delivery unsent', () => {
  it('when nothing listens there', async () => {
    expect(await sender(at(await findClosedPort()))('http://hooks.example.com/')).toEqual({
      kind: 'unsent',
      error: 'The proxy could not be used (ECONNREFUSED).',
    });
  });

  it('when its name leads nowhere', async () => {
    const proxy = proxyUrlSchema.parse('http://proxy.invalid:3128');
    expect(await sender(proxy)('http://hooks.example.com/')).toMatchObject({ kind: 'unsent' });
  });

  it.each([407, 429])('when it answers %i', async (status) => {
    const proxy = await startProxy({ answer: () => status });
    expect(await sender(at(proxy.port))('http://hooks.example.com/')).toEqual({
      kind: 'unsent',
      error: `The proxy responded with ${status} instead of opening a tunnel.`,
    });
  });

  it('when it hangs up instead of an answer', async () => {
    const proxy = await startProxy({ answer: () => 'hang up' });
    expect(await sender(at(proxy.port))('https://hooks.example.com/')).toMatchObject({ kind: 'unsent' });
  });

  it('when it is something else', async () => {
    const { port } = scene.willClose(
      await startTcpServer((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n')),
    );
    expect(await sender(at(port))('https://hooks.example.com/')).toMatchObject({ kind: 'unsent' });
  });

  it('when it should speak TLS and does not answer in it', async () => {
    const { port } = scene.willClose(await startTcpServer((socket) => socket.resume()));
    const proxy = proxyUrlSchema.parse(`https://127.0.0.1:${port}`);
    expect(
      await sender(proxy, { connectTimeoutMs: SHORT_MS, timeoutMs: 10 * SHORT_MS })('http://a.example/'),
    ).toMatchObject({ kind: 'unsent' });
  });
});

describe('what the proxy says of the receiver is a failed attempt', () => {
  it.each([
    [403, 'blocked_address'],
    [404, 'blocked_address'],
    [500, 'network_error'],
    [502, 'network_error'],
    [503, 'network_error'],
    [504, 'network_error'],
    [302, 'network_error'],
  ])('%i is %s', async (status, reason) => {
    const proxy = await startProxy({ answer: () => status });
    expect(await sender(at(proxy.port))('https://hooks.example.com/')).toMatchObject({
      kind: 'failed',
      reason,
      error: `The proxy responded with ${status} instead of opening a tunnel.`,
    });
  });

  it('no answer in the time for connecting is connect_timeout', async () => {
    const proxy = await startProxy({ answer: () => 'silence' });
    const send = sender(at(proxy.port), { connectTimeoutMs: SHORT_MS });
    expect(await send('https://hooks.example.com/')).toMatchObject({
      kind: 'failed',
      reason: 'connect_timeout',
    });
  });

  it('a tunnel that breaks off is the end of the connection', async () => {
    const receiver = scene.willClose(
      await startTcpServer((socket) => socket.once('data', () => socket.destroy())),
    );
    const proxy = await startProxy();
    expect(await sender(at(proxy.port))(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'connection_reset',
    });
  });
});

const describeTls = hasOpenssl ? describe : describe.skip;

describeTls('TLS by a proxy', () => {
  let authority: CertificateAuthority;
  beforeAll(() => {
    authority = new CertificateAuthority();
  });
  afterAll(() => authority.remove());

  async function startTlsReceiver(subject: string) {
    const server = createServer(authority.issue({ subject }), (_request, response) =>
      response.writeHead(204).end(),
    );
    return scene.willClose(await listen(server));
  }

  it('goes from end to end, to the name that was asked for', async () => {
    const receiver = await startTlsReceiver('DNS:hooks.example.com');
    const proxy = await startProxy();
    const result = await sender(at(proxy.port), { tls: { ca: authority.cert } })(
      `https://hooks.example.com:${receiver.port}/`,
    );
    expect(result).toMatchObject({ kind: 'responded', status: 204 });
    expect(result).toHaveProperty('timings', { connectMs: MS, tlsMs: MS, firstByteMs: MS });
  });

  it.each<[string, string, boolean]>([
    ['is for another host', 'DNS:other.example.com', true],
    ['is of an authority that nobody knows', 'DNS:hooks.example.com', false],
  ])('fails at a receiver whose certificate %s', async (_what, subject, isTrusted) => {
    const receiver = await startTlsReceiver(subject);
    const proxy = await startProxy();
    const send = sender(at(proxy.port), isTrusted ? { tls: { ca: authority.cert } } : {});
    expect(await send(`https://hooks.example.com:${receiver.port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
    });
  });

  it('that gets no answer through the tunnel is a fault of TLS', async () => {
    const receiver = scene.willClose(await startTcpServer((socket) => socket.resume()));
    const proxy = await startProxy();
    const send = sender(at(proxy.port), { connectTimeoutMs: SHORT_MS });
    expect(await send(`https://hooks.example.com:${receiver.port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
    });
  });

  it('fails as a failed attempt when the key of the endpoint is invalid', async () => {
    const receiver = await startTlsReceiver('DNS:hooks.example.com');
    const proxy = await startProxy();
    const send = sender(at(proxy.port), { tls: { certificate: 'none', key: 'none' } });
    expect(await send(`https://hooks.example.com:${receiver.port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
    });
  });

  it('with the proxy itself asks for the name of the proxy', async () => {
    const names: string[] = [];
    const proxy = await startProxy({
      tls: {
        ...authority.issue({ subject: 'DNS:localhost' }),
        SNICallback(name, done) {
          names.push(name);
          done(null);
        },
      },
    });
    const send = sender(proxyUrlSchema.parse(`https://localhost:${proxy.port}`));
    await send('https://hooks.example.com/');
    expect(names).toEqual(['localhost']);
  });

  it('with the proxy itself leaves the delivery unsent when its certificate is not good', async () => {
    const proxy = await startProxy({ tls: authority.issue({ subject: 'DNS:localhost' }) });
    const url = proxyUrlSchema.parse(`https://localhost:${proxy.port}`);
    expect(await sender(url)('http://hooks.example.com/')).toMatchObject({ kind: 'unsent' });
    expect(proxy.asked).toEqual([]);
  });
});

it('a literal address of a proxy may be private: the guard is about receivers', async () => {
  const receiver = await scene.startReceiver();
  const proxy = await startProxy();
  const send = sender(at(proxy.port), { allowedCidrs: [] });
  expect(await send(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 204 });
  const direct = scene.sender({ route: new DirectRoute(buildGuard({ allowedCidrs: [] })) });
  expect(await direct(`http://127.0.0.1:${receiver.port}/`)).toMatchObject({ kind: 'failed' });
});

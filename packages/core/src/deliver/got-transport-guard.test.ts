import type { LookupFunction } from 'node:net';
import { buildGuard, type GuardChanges } from '../testing/build-guard';
import { type DnsAnswer, startDnsServer } from '../testing/dns-server';
import { startTcpServer } from '../testing/local-server';
import { recordSignals } from '../testing/record-signals';
import { TransportScene } from '../testing/transport-scene';
import { lookUpName, type ResolvedAddress, type ResolveName } from './egress/resolve-name';
import { DirectRoute } from './egress/routes';

const BLOCKED = { kind: 'failed', reason: 'blocked_address' };
const ANSWERED = { kind: 'responded', status: 204 };

const scene = new TransportScene();
afterEach(scene.clear);

/** Sends through a guard that allows nothing but what `changes` says. */
function sender(changes: GuardChanges = {}) {
  return scene.sender({ route: new DirectRoute(buildGuard({ allowedCidrs: [], ...changes })) });
}

function resolved(...addresses: string[]): readonly ResolvedAddress[] {
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4, ttlSeconds: 0 }));
}

describe('a literal address', () => {
  it.each(['http', 'https'])('is not connected to over %s where it is not public', async (scheme) => {
    const { port, connectionCount } = await scene.startReceiver();
    const signals = recordSignals();
    const send = sender({ emit: signals.listen });
    expect(await send(`${scheme}://127.0.0.1:${port}/`)).toMatchObject({
      ...BLOCKED,
      error:
        "127.0.0.1 leads to an address that no delivery may go to; the worker's log says to which and why.",
    });
    expect(connectionCount()).toBe(0);
    expect(signals.named('delivery.blocked')).toEqual([
      { name: 'delivery.blocked', host: '127.0.0.1', address: '127.0.0.1', reason: 'loopback' },
    ]);
  });

  it.each(['[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '127.1', '0', '[::]', '①②⑦.0.0.1'])(
    'is not connected to however it is spelled: %s',
    async (host) => {
      const { port, connectionCount } = await scene.startReceiver();
      expect(await sender()(`http://${host}:${port}/`)).toMatchObject(BLOCKED);
      expect(connectionCount()).toBe(0);
    },
  );

  it('is connected to where the operator makes an exception', async () => {
    const { port } = await scene.startReceiver();
    expect(await sender({ allowedCidrs: ['127.0.0.1/32'] })(`http://127.0.0.1:${port}/`)).toMatchObject(
      ANSWERED,
    );
  });

  it('is not connected to where the operator denies it, exception or not', async () => {
    const { port, connectionCount } = await scene.startReceiver();
    const send = sender({ allowedCidrs: ['127.0.0.0/8'], deniedCidrs: ['127.0.0.1/32'] });
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject(BLOCKED);
    expect(connectionCount()).toBe(0);
  });

  it('is refused each time, for many deliveries at once', async () => {
    const { port, connectionCount } = await scene.startReceiver();
    const send = sender();
    const results = await Promise.all(Array.from({ length: 20 }, () => send(`http://127.0.0.1:${port}/`)));
    expect(results.map((result) => result.kind === 'failed' && result.reason)).toEqual(
      Array(20).fill('blocked_address'),
    );
    expect(connectionCount()).toBe(0);
  });
});

describe('a name', () => {
  it('is connected to where all its addresses may be reached', async () => {
    const { port } = await scene.startReceiver();
    const send = sender({
      allowedCidrs: ['127.0.0.0/8'],
      resolveName: async () => resolved('127.0.0.1', '127.0.0.2'),
    });
    expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject(ANSWERED);
  });

  it('is connected to by another address when the first one is out of order', async () => {
    const { port } = await scene.startReceiver();
    const send = sender({
      allowedCidrs: ['127.0.0.0/8', '::1/128'],
      // The receiver listens at neither of the first two.
      resolveName: async () => resolved('::1', '127.0.0.2', '127.0.0.1'),
    });
    expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject(ANSWERED);
  });

  it.each([
    [['127.0.0.1']],
    [['127.0.0.1', '10.0.0.1']],
    [['10.0.0.1', '127.0.0.1']],
    [['::1', '127.0.0.1']],
  ])('is not connected to where one of its addresses may not be reached: %j', async (addresses) => {
    const { port, connectionCount } = await scene.startReceiver();
    const send = sender({
      allowedCidrs: addresses.length > 1 ? ['127.0.0.0/8'] : [],
      resolveName: async () => resolved(...addresses),
    });
    expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject({
      ...BLOCKED,
      error: expect.stringMatching(/^hooks\.example\.com leads to /),
    });
    expect(connectionCount()).toBe(0);
  });

  it('is not asked for when a kept-alive connection, checked when it was opened, serves again', async () => {
    const { port, connectionCount } = await scene.startReceiver();
    let asked = 0;
    const send = sender({
      allowedCidrs: ['127.0.0.1/32'],
      resolveName: async () => {
        asked += 1;
        return resolved('127.0.0.1');
      },
    });
    for (let i = 0; i < 3; i += 1) await send(`http://hooks.example.com:${port}/`);
    expect([asked, connectionCount()]).toEqual([1, 1]);
  });
});

// The name leads to a public address when it is checked, and to an internal one when it is connected to.
describe('DNS rebinding', () => {
  /** A name server that gives the answers one after the other, the last one again and again. */
  async function arrange(...answers: DnsAnswer[]) {
    let asked = 0;
    const server = scene.willClose(
      await startDnsServer((_name, type) => {
        if (type === 'AAAA') return { addresses: [], ttlSeconds: 0 };
        asked += 1;
        return answers[Math.min(asked, answers.length) - 1] ?? 'failure';
      }),
    );
    const receiver = await scene.startReceiver((_request, response) =>
      response.writeHead(204, { connection: 'close' }).end(),
    );
    const resolveName: ResolveName = (name) =>
      lookUpName(name, { servers: [server.address], queryTimeoutMs: 5_000 });
    const url = `http://rebind.example.com:${receiver.port}/`;
    return { server, receiver, resolveName, url };
  }
  const at = (...addresses: string[]): DnsAnswer => ({ addresses, ttlSeconds: 0 });

  it('finds no gap between check and connection: they are about the same answer', async () => {
    const { server, receiver, resolveName, url } = await arrange(at('127.0.0.1'), at('127.0.0.2'));
    expect(await sender({ allowedCidrs: ['127.0.0.1/32'], resolveName })(url)).toMatchObject(ANSWERED);
    expect(server.questions.filter((question) => question.startsWith('A '))).toHaveLength(1);
    expect(receiver.connectionCount()).toBe(1);
  });

  it('is noticed at the next connection', async () => {
    const { receiver, resolveName, url } = await arrange(at('127.0.0.1'), at('127.0.0.2'), at('127.0.0.1'));
    const send = sender({ allowedCidrs: ['127.0.0.1/32'], resolveName });
    expect(await send(url)).toMatchObject(ANSWERED);
    expect(await send(url)).toMatchObject(BLOCKED);
    expect(await send(url)).toMatchObject(ANSWERED);
    expect(receiver.connectionCount()).toBe(2);
  });

  it('to this machine is blocked before there is a connection', async () => {
    const { receiver, resolveName, url } = await arrange(at('127.0.0.1'));
    expect(await sender({ resolveName })(url)).toMatchObject(BLOCKED);
    expect(receiver.connectionCount()).toBe(0);
  });

  it('with a good and a bad address at once is blocked', async () => {
    const { receiver, resolveName, url } = await arrange(at('127.0.0.1', '169.254.169.254'));
    expect(await sender({ allowedCidrs: ['127.0.0.1/32'], resolveName })(url)).toMatchObject(BLOCKED);
    expect(receiver.connectionCount()).toBe(0);
  });

  it.each<DnsAnswer>(['no such name', 'failure', 'silence'])(
    'by a server that then answers with %s ends in no connection',
    async (answer) => {
      const { receiver, resolveName, url } = await arrange(answer);
      expect(await sender({ allowedCidrs: ['0.0.0.0/0'], resolveName })(url)).toMatchObject({
        kind: 'failed',
        reason: 'dns_error',
        error: expect.stringMatching(/^rebind\.example\.com could not be resolved \(E[A-Z]+\)\.$/),
      });
      expect(receiver.connectionCount()).toBe(0);
    },
  );
});

// Should the look-up ever let an address slip through.
describe('the peer of a connection', () => {
  const careless: LookupFunction = (_name, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);

  /** Goes by the guard in all but the look-up. */
  class CarelessRoute extends DirectRoute {
    override readonly lookup = careless;
  }

  it.each(['http', 'https'])('is checked before it is sent a single byte over %s', async (scheme) => {
    let received = 0;
    let closed: Promise<unknown> | undefined;
    const { port } = scene.willClose(
      await startTcpServer((socket) => {
        closed = new Promise((resolve) => socket.once('close', resolve));
        socket.on('data', (chunk) => {
          received += chunk.length;
        });
      }),
    );
    const send = scene.sender({ route: new CarelessRoute(buildGuard({ allowedCidrs: [] })) });
    const result = await send(`${scheme}://hooks.example.com:${port}/`);
    expect(result).toMatchObject(BLOCKED);
    expect(result).toHaveProperty('remoteAddress', undefined);
    await closed;
    expect(received).toBe(0);
  });
});

describe('what could lead a delivery astray', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://127.0.0.1:6379/',
    'http://[::1]/',
    'http://metadata.google.internal/',
    '//169.254.169.254/',
    'file:///etc/passwd',
  ])('a redirect to %s is not followed', async (location) => {
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(302, { location }).end(),
    );
    const signals = recordSignals();
    const asked: string[] = [];
    const send = sender({
      allowedCidrs: ['127.0.0.1/32'],
      emit: signals.listen,
      resolveName: async (name) => {
        asked.push(name);
        return resolved('127.0.0.1');
      },
    });
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'responded', status: 302 });
    // Neither tried nor stopped on the way.
    expect([...asked, ...signals.named('delivery.blocked')]).toEqual([]);
  });

  it('a proxy of the environment is not used', async () => {
    const proxy = await scene.startReceiver();
    const { port, connectionCount } = await scene.startReceiver();
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
    const settings = [
      ...names.map((name) => [name, `http://127.0.0.1:${proxy.port}`]),
      ['NODE_USE_ENV_PROXY', '1'],
    ];
    const before = { ...process.env };
    Object.assign(process.env, Object.fromEntries(settings));
    try {
      const send = sender({ allowedCidrs: ['127.0.0.0/8'], resolveName: async () => resolved('127.0.0.1') });
      expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject(ANSWERED);
      expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject(ANSWERED);
      await send(`https://hooks.example.com:${port}/`);
    } finally {
      process.env = before;
    }
    expect(connectionCount()).toBe(3);
    expect(proxy.connectionCount()).toBe(0);
  });

  it.each(['http://unix:/var/run/docker.sock:/info', 'http://unix/var/run/docker.sock:/info'])(
    'a socket of this machine is not opened, as %s names one',
    async (url) => {
      expect(await sender({ allowedCidrs: ['0.0.0.0/0', '::/0'] })(url)).toMatchObject({ kind: 'failed' });
    },
  );
});

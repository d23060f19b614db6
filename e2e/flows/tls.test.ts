import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { CertificateAuthority, hasOpenssl } from '@hookferry/core/testing/certificate-authority';
import { startConnectProxy } from '@hookferry/core/testing/connect-proxy';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

if (!hasOpenssl) console.warn('SKIPPED: deliveries over TLS, because there is no openssl here.');
const describeTls = hasOpenssl ? describe : describe.skip;

describeTls('a delivery over TLS', () => {
  let trusted: CertificateAuthority;
  let unknown: CertificateAuthority;
  let stack: Stack;

  beforeAll(async () => {
    trusted = new CertificateAuthority();
    unknown = new CertificateAuthority();
    stack = await Stack.start({
      environment: {
        RETRY_SCHEDULE: '50ms',
        NODE_EXTRA_CA_CERTS: trusted.certFile,
        // Neither may lower what deliveries ask of a receiver.
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
        NODE_OPTIONS: '--tls-min-v1.0',
      },
    });
  });
  afterAll(async () => {
    await stack.stop();
    trusted.remove();
    unknown.remove();
  });

  const here = { subject: 'IP:127.0.0.1' };
  // OpenSSL by itself no longer speaks the old versions.
  const oldTls = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;

  /** A receiver with these settings, the endpoint for it, and what it sees. */
  async function startReceiver(options: ServerOptions, headers: OutgoingHttpHeaders = {}) {
    const requests: { isResumed: boolean }[] = [];
    const server = createServer(options, ({ socket }, response) => {
      requests.push({ isResumed: (socket as TLSSocket).isSessionReused() });
      response.writeHead(204, headers).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const webhook = await stack.client.register(`https://127.0.0.1:${port}/hook`);
    return {
      requests,
      /** Publishes an event; gives its delivery to this receiver once that has come to the status. */
      async deliver(status: string) {
        const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
        return await stack.client.waitForStatus(webhook.id, eventId, status);
      },
      async stop() {
        await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
        server.close();
        server.closeAllConnections();
      },
    };
  }

  it('reaches a receiver whose certificate is good', async () => {
    const receiver = await startReceiver(trusted.issue(here));
    const { attempts } = await receiver.deliver('delivered');
    expect(attempts).toMatchObject([{ outcome: 'delivered' }]);
    expect(receiver.requests).toHaveLength(1);
    await receiver.stop();
  });

  it('resumes the session with a receiver that closes its connections', async () => {
    const receiver = await startReceiver(trusted.issue(here), { connection: 'close' });
    await receiver.deliver('delivered');
    await receiver.deliver('delivered');
    expect(receiver.requests).toEqual([{ isResumed: false }, { isResumed: true }]);
    await receiver.stop();
  });

  it.each<[string, () => ServerOptions, RegExp]>([
    ['has expired', () => trusted.issue({ ...here, days: -1 }), /expired/],
    ['is for another host', () => trusted.issue({ subject: 'DNS:example.com' }), /altnames/],
    ['is of an authority that nobody knows', () => unknown.issue(here), /unable to verify/],
    ['is good, but whose TLS is too old', () => ({ ...trusted.issue(here), ...oldTls }), /protocol version/],
  ])('fails, and is tried again, at a receiver whose certificate %s', async (_what, options, error) => {
    const receiver = await startReceiver(options());
    const { attempts } = await receiver.deliver('exhausted');
    expect(attempts).toMatchObject([
      { outcome: 'tls_error', error: expect.stringMatching(error) },
      { outcome: 'tls_error', error: expect.stringMatching(error) },
    ]);
    expect(receiver.requests).toEqual([]);
    await receiver.stop();
  });
});

describeTls('a delivery by a proxy that is reached over TLS', () => {
  it('goes through it, with TLS from end to end inside', async () => {
    const authority = new CertificateAuthority();
    const proxy = await startConnectProxy({ tls: authority.issue({ subject: 'DNS:localhost' }) });
    const receiver = createServer(
      authority.issue({ subject: 'DNS:hooks.example.com' }),
      (_request, response) => response.writeHead(204).end(),
    );
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;
    const stack = await Stack.start({
      environment: {
        NODE_EXTRA_CA_CERTS: authority.certFile,
        DELIVERY_PROXY_URL: `https://localhost:${proxy.port}`,
      },
    });
    try {
      const webhook = await stack.client.register(`https://hooks.example.com:${port}/hook`);
      const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
      const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
      expect(attempts).toMatchObject([{ outcome: 'delivered' }]);
      expect(proxy.asked).toEqual([`hooks.example.com:${port}`]);
    } finally {
      await stack.stop();
      receiver.close();
      receiver.closeAllConnections();
      await proxy.close();
      authority.remove();
    }
  });
});

import { X509Certificate } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { SendResult, TlsMaterial } from '../domain/transport';
import type { Validity } from '../endpoints/tls/redis-receiver-certificates';
import { type Certificate, CertificateAuthority, hasOpenssl } from '../testing/certificate-authority';
import { costlyDsaKey, costlyRsaKey } from '../testing/costly-keys';
import { listen } from '../testing/local-server';
import { TransportScene } from '../testing/transport-scene';

if (!hasOpenssl) console.warn("SKIPPED: TLS of an endpoint's own, because there is no openssl here.");
const describeTls = hasOpenssl ? describe : describe.skip;

const scene = new TransportScene();
afterEach(scene.clear);

describeTls("an endpoint's own TLS", () => {
  let authority: CertificateAuthority;
  let other: CertificateAuthority;
  let receiverCertificate: Certificate;
  beforeAll(() => {
    authority = new CertificateAuthority();
    other = new CertificateAuthority();
    receiverCertificate = authority.issue({ subject: 'IP:127.0.0.1' });
  });
  afterAll(() => {
    authority.remove();
    other.remove();
  });

  /** A receiver, and the serial numbers of the certificates that it was shown, one for each request. */
  async function startReceiver(options: ServerOptions = {}) {
    const shown: (string | undefined)[] = [];
    const resumed: boolean[] = [];
    const server = createServer({ ...receiverCertificate, ...options }, ({ socket }, response) => {
      const peer = socket as TLSSocket;
      shown.push(peer.getPeerX509Certificate()?.serialNumber);
      resumed.push(peer.isSessionReused());
      response.writeHead(204).end();
    });
    const { port, connectionCount } = scene.willClose(await listen(server));
    return { url: `https://127.0.0.1:${port}/`, shown, resumed, connectionCount };
  }

  function openSender() {
    const transport = scene.openTransport();
    return (url: string, tls?: TlsMaterial): Promise<SendResult> =>
      transport.send({ url, headers: {}, body: '{}', ...(tls && { tls }) }, new AbortController().signal);
  }

  const trusting = (material: Partial<TlsMaterial> = {}): TlsMaterial => ({
    ca: authority.cert,
    ...material,
  });
  function issueClient(from = authority): Pick<TlsMaterial, 'certificate' | 'key'> {
    const { cert, key } = from.issue({ subject: 'DNS:sender.example.com' });
    return { certificate: cert, key };
  }

  it('trusts the authority that is named, and says how long the handshake took', async () => {
    const { url } = await startReceiver();
    const result = await openSender()(url, trusting());
    expect(result).toMatchObject({ kind: 'responded', status: 204 });
    expect(result).toHaveProperty('timings', {
      connectMs: expect.any(Number),
      tlsMs: expect.any(Number),
      firstByteMs: expect.any(Number),
    });
  });

  it('tells how long a certificate is valid once for each connection that is new', async () => {
    const { url } = await startReceiver();
    const seen: { host: string; until: number }[] = [];
    const onCertificate = (host: string, { until }: Validity) => void seen.push({ host, until });
    const send = scene.sender({ onCertificate }, { tls: trusting() });
    await send(url);
    await send(url);
    const { validTo } = new X509Certificate(receiverCertificate.cert);
    expect(seen).toEqual([{ host: '127.0.0.1', until: Date.parse(validTo) }]);
    await send(url, { tls: { ca: other.cert } });
    expect(seen).toHaveLength(1);
  });

  it.each<[string, () => TlsMaterial | undefined]>([
    ['another authority', () => ({ ca: other.cert })],
    ['the well-known ones, when none is named', () => undefined],
  ])('fails when it trusts %s', async (_what, material) => {
    const { url, shown } = await startReceiver();
    expect(await openSender()(url, material())).toMatchObject({ kind: 'failed', reason: 'tls_error' });
    expect(shown).toEqual([]);
  });

  // It would take all of the process up to a second, with numbers as large as the receiver likes.
  it.each<[string, ServerOptions]>([
    ['TLS 1.2', { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' }],
    ['TLS 1.3', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe8192' }],
  ])('agrees on no keys over finite fields, in %s', async (_what, options) => {
    const certificate = authority.issue({ subject: 'IP:127.0.0.1', keyType: 'rsa' });
    const { url, shown } = await startReceiver({ ...certificate, ...options });
    expect(await openSender()(url, trusting())).toMatchObject({ kind: 'failed', reason: 'tls_error' });
    expect(shown).toEqual([]);
  });

  it('refuses to shake hands again over a connection that stands', async () => {
    let renegotiations = 0;
    const server = createServer({ ...receiverCertificate, maxVersion: 'TLSv1.2' }, ({ socket }, response) => {
      (socket as TLSSocket).renegotiate({}, (error) => {
        if (!error) renegotiations += 1;
        response.writeHead(204).end();
      });
    });
    server.on('secureConnection', (socket) => socket.on('error', () => {}));
    const { port } = scene.willClose(await listen(server));
    const result = await openSender()(`https://127.0.0.1:${port}/`, trusting());
    expect(renegotiations).toBe(0);
    expect(result).toMatchObject({ kind: 'failed', reason: 'tls_error' });
  });

  it('fails at a receiver whose certificate is costly to check, and says why', async () => {
    const { url, shown } = await startReceiver(
      authority.issue({ subject: 'IP:127.0.0.1', keyType: 'costlyRsa' }),
    );
    expect(await openSender()(url, trusting())).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
      error: "The receiver's chain of certificates must have RSA keys with exponents of at most 32 bits.",
    });
    expect(shown).toEqual([]);
  });

  it('still asks whether a receiver is the one that was called', async () => {
    const { url } = await startReceiver(authority.issue({ subject: 'IP:127.0.0.2' }));
    expect(await openSender()(url, trusting())).toMatchObject({
      reason: 'tls_error',
      error: expect.stringMatching(/does not match certificate's altnames/),
    });
  });

  // Stored before such keys were refused: OpenSSL would compute with it for half a minute, with nothing else
  // done meanwhile.
  it.each<[string, (material: TlsMaterial) => TlsMaterial, RegExp]>([
    ['a key with huge numbers', (own) => ({ ...own, key: costlyRsaKey() }), /client_key .*fit together\.$/],
    [
      'a key of a kind that is not taken',
      (own) => ({ ...own, key: costlyDsaKey() }),
      /client_key must be .* RSA/,
    ],
    ['a costly certificate', (own) => ({ ...own, certificate: costly() }), /client_certificate .*32 bits\.$/],
    ['a costly authority', (own) => ({ ...own, ca: costly() }), /tls\.ca .*32 bits\.$/],
  ])('fails with %s and says why, without a connection', async (_what, change, error) => {
    const { url, connectionCount } = await startReceiver();
    const result = await openSender()(url, change(trusting(issueClient())));
    expect(result).toEqual({
      kind: 'failed',
      reason: 'tls_error',
      error: expect.stringMatching(error),
      timings: {},
    });
    expect(connectionCount()).toBe(0);
  });
  const costly = () => authority.issue({ subject: 'DNS:sender.example.com', keyType: 'costlyRsa' }).cert;

  it('keeps little of what is wrong with a certificate of ever so many names', async () => {
    const subject = Array.from({ length: 500 }, (_, i) => `IP:2001:db8::${i}`).join();
    const { url } = await startReceiver(authority.issue({ subject }));
    const result = await openSender()(url, trusting());
    expect(result).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
      error: expect.stringMatching(/cert's list/),
    });
    expect('error' in result && result.error.length).toBeLessThanOrEqual(500);
  });

  it('shows its certificate to a receiver that asks for one', async () => {
    const { url, shown } = await startReceiver({ requestCert: true, ca: authority.cert });
    expect(await openSender()(url, trusting(issueClient()))).toMatchObject({ status: 204 });
    expect(shown).toEqual([expect.stringMatching(/^[0-9A-F]+$/)]);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'fails without a certificate at a receiver that asks for one over %s',
    async (maxVersion) => {
      const { url, shown } = await startReceiver({ requestCert: true, ca: authority.cert, maxVersion });
      expect(await openSender()(url, trusting())).toMatchObject({ kind: 'failed', reason: 'tls_error' });
      expect(shown).toEqual([]);
    },
  );

  it.each<[string, Partial<TlsMaterial>]>([
    ['certificate', { certificate: 'none', key: 'none' }],
    ['authority', { ca: '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n' }],
  ])('fails when what stands there is no %s, and other deliveries go on', async (_what, material) => {
    const { url } = await startReceiver();
    const send = openSender();
    expect(await send(url, trusting(material))).toMatchObject({ kind: 'failed', reason: 'tls_error' });
    expect(await send(url, trusting())).toMatchObject({ status: 204 });
  });

  // Or one client's deliveries would be taken for another's.
  it('never shares a connection or a session with an endpoint of the same origin that shows another certificate', async () => {
    const { url, shown, resumed, connectionCount } = await startReceiver({
      requestCert: true,
      rejectUnauthorized: false,
      ca: authority.cert,
    });
    const send = openSender();
    const [one, two] = [trusting(issueClient()), trusting(issueClient())];
    for (const material of [one, two, one, two, trusting(), trusting()]) await send(url, material);
    expect(connectionCount()).toBe(3);
    expect(resumed).toEqual(Array(6).fill(false));
    const [first, second] = shown;
    expect(shown).toEqual([first, second, first, second, undefined, undefined]);
    expect(first).not.toBe(second);
  });

  it('keeps a connection of one that trusts an authority from one that does not', async () => {
    const { url, connectionCount } = await startReceiver();
    const send = openSender();
    expect(await send(url, trusting())).toMatchObject({ status: 204 });
    expect(await send(url, { ca: other.cert })).toMatchObject({ kind: 'failed', reason: 'tls_error' });
    expect(await send(url)).toMatchObject({ kind: 'failed', reason: 'tls_error' });
    expect(connectionCount()).toBe(3);
  });
});

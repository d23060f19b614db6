import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { CHUNK, CHUNKED } from './endless';
import { listen, startRespondingReceiver, startWritingReceiver } from './raw-receiver';
import type { Authorities, ReceiverKind, StartedReceiver } from './receiver-kind';
import { flood } from './write-without-end';

const HERE = { subject: 'IP:127.0.0.1' };
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';
const fault = { outcome: 'tls_error', endedBy: 'receiver', connection: 'closed', needsTls: true } as const;

/** Those whose TLS is not as it should be, and one whose is. */
export const tlsKinds: readonly ReceiverKind[] = [
  {
    name: 'TLS as it should be',
    start: startTls(({ trusted }) => trusted.issue(HERE)),
    outcome: 'delivered',
    status: 204,
    endedBy: 'receiver',
    connection: 'kept',
    needsTls: true,
  },
  {
    name: 'a body without end over TLS, fast',
    start: startTls(
      ({ trusted }) => trusted.issue(HERE),
      (socket) => {
        socket.write(CHUNKED);
        flood(socket, CHUNK);
      },
    ),
    outcome: 'delivered',
    status: 200,
    endedBy: 'receiver',
    connection: 'closed',
    needsTls: true,
  },
  {
    name: 'an expired certificate',
    start: startTls(({ trusted }) => trusted.issue({ ...HERE, days: -1 })),
    error: /expired/,
    ...fault,
  },
  {
    name: "another host's certificate",
    start: startTls(({ trusted }) => trusted.issue({ subject: 'DNS:example.com' })),
    error: /altnames/,
    ...fault,
  },
  {
    name: "an unknown authority's certificate",
    start: startTls(({ unknown }) => unknown.issue(HERE)),
    error: /unable to verify/,
    ...fault,
  },
  {
    name: 'a self-signed certificate',
    start: startTls(({ unknown }) => unknown.own()),
    error: /self-signed/,
    ...fault,
  },
  {
    name: 'TLS 1.1 at most',
    // OpenSSL by itself no longer speaks the old versions.
    start: startTls(({ trusted }) => ({
      ...trusted.issue(HERE),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    })),
    error: /protocol version/,
    ...fault,
  },
  {
    name: 'plain HTTP where TLS was asked for',
    start: async () => asHttps(await startWritingReceiver(NO_CONTENT)),
    outcome: 'tls_error',
    endedBy: 'receiver',
    connection: 'closed',
  },
  {
    name: 'a TLS handshake that never ends',
    start: async () => asHttps(await startRespondingReceiver(() => {})),
    outcome: 'tls_error',
    endedBy: 'deadline',
    connection: 'closed',
  },
];

function startTls(
  options: (authorities: Authorities) => TlsOptions,
  onRequest = (socket: TLSSocket): void => void socket.write(NO_CONTENT),
) {
  return async (authorities: Authorities | undefined): Promise<StartedReceiver> => {
    if (!authorities) throw new Error('This kind needs certificates.');
    const server = createServer(options(authorities), (socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', () => onRequest(socket));
    });
    return await listen(server, 'https');
  };
}

function asHttps(receiver: StartedReceiver): StartedReceiver {
  return { ...receiver, url: receiver.url.replace('http:', 'https:') };
}

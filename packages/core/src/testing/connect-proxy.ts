import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type LocalServer, listen } from './local-server';

export interface ConnectProxyOptions {
  /** With these it is an https: proxy. */
  readonly tls?: ServerOptions;
  /** The response to CONNECT; 200 opens the tunnel. Default: 200. */
  readonly answer?: (request: IncomingMessage) => number | 'hang up' | 'silence';
}

export interface ConnectProxy extends LocalServer {
  /** The requested tunnels, as `host:port`. */
  readonly asked: readonly string[];
}

/** A forward proxy on this machine, which looks up every name as this machine. */
export async function startConnectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const { tls, answer = () => 200 } = options;
  const server = tls ? createSecureServer(tls) : createServer();
  const asked: string[] = [];
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    asked.push(request.url ?? '');
    const given = answer(request);
    if (given === 'hang up') client.destroy();
    else if (given === 200) openTunnel(request, client);
    else if (given !== 'silence') client.end(`HTTP/1.1 ${given} No\r\nContent-Length: 3\r\n\r\nno\n`);
  });
  return { ...(await listen(server)), asked };
}

function openTunnel({ url = '' }: IncomingMessage, client: Duplex): void {
  const port = Number(url.slice(url.lastIndexOf(':') + 1));
  const upstream: Socket = connect(port, '127.0.0.1', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.pipe(client).pipe(upstream);
  });
  upstream.on('error', () => client.destroy());
  client.on('error', () => upstream.destroy());
  client.once('close', () => upstream.destroy());
}

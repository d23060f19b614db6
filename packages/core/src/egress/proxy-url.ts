import { z } from 'zod';
import { hostOf } from '../kernel/host-of';

/** The forward proxy that deliveries go through. */
export interface EgressProxy {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  /** The `Proxy-Authorization` to send. A secret. */
  readonly authorization: string | undefined;
}

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;

/** `http://proxy:3128`, `https://user:password@proxy`. No message repeats the value, which may hold a password. */
export const proxyUrlSchema = z.string().transform((text, context): EgressProxy => {
  const proxy = parseProxyUrl(text);
  if (proxy) return proxy;
  context.addIssue({
    code: 'custom',
    message:
      'must be http://[user:password@]host[:port] or the same with https (user and password percent-encoded)',
  });
  return z.NEVER;
});

function parseProxyUrl(text: string): EgressProxy | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const { protocol, port, username, password, pathname, search, hash } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  if (pathname !== '/' || search !== '' || hash !== '') return undefined;
  const credentials = decodeCredentials(username, password);
  if (credentials === undefined) return undefined;
  return {
    protocol,
    host: hostOf(url),
    port: port === '' ? DEFAULT_PORTS[protocol] : Number(port),
    authorization: credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

function decodeCredentials(username: string, password: string): string | undefined {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}

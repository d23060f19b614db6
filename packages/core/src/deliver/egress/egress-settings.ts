import { z } from 'zod';
import { isNetwork, parseKnownRange, parseRange } from '../../domain/address-ranges';
import { hostOf } from '../../domain/target-url';
import { parseUrl } from '../../platform/parse-url';

const cidrSchema = z.string().refine((text) => parseRange(text) !== undefined, {
  error: ({ input }) =>
    `"${String(input)}" is not a range such as 10.1.0.0/16 or fd00::/8 (one address: 10.1.2.3/32, fd00::1/128)`,
  // Without it, a union shows this error in the place of its own.
  abort: true,
});

/** Ranges of IP addresses in CIDR notation, separated by commas. */
export const cidrListSchema = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(cidrSchema));

const EVERYBODY = /\/0+$/;

/**
 * The ranges that deliveries come from, for the firewalls of receivers. Each is written as a firewall wants
 * it: with no bits beyond its prefix. A range of every address would tell receivers to let everybody in.
 */
export const sourceAddressesSchema = cidrListSchema.pipe(
  z.array(
    z
      .string()
      .refine((range) => !EVERYBODY.test(range), {
        error: ({ input }) =>
          `"${String(input)}" is every address there is: name those that deliveries come from`,
      })
      .refine((range) => isNetwork(parseKnownRange(range)), {
        error: ({ input }) =>
          `"${String(input)}" has bits beyond its prefix: write the range's first address`,
      }),
  ),
);

const HOPS = /^[1-9]\d?$/;

/**
 * Which proxies may state a client's address: `off` for none (0 inside), the number of proxies in front of
 * the API, or their address ranges. A range of every address is refused: any client could give itself any
 * address with it.
 */
export const trustProxySchema = z.union(
  [
    z.literal('off').transform(() => 0),
    z.string().regex(HOPS).transform(Number),
    cidrListSchema.refine((ranges) => !ranges.some((range) => EVERYBODY.test(range)), { abort: true }),
  ],
  'must be off, the number of proxies in front of the API (1 to 99), or their address ranges, such as 10.1.0.0/16, but not /0',
);

/** Where deliveries may go: the same for registering an endpoint (API) and for connecting to it (worker). */
export const egressSettings = {
  DELIVERY_ALLOWED_CIDRS: cidrListSchema
    .default([])
    .describe(
      'exceptions to the refusal of addresses that are not public, such as `10.1.0.0/16`; with any, internal names may be registered',
    ),
  DELIVERY_DENIED_CIDRS: cidrListSchema
    .default([])
    .describe('more addresses to refuse; wins over `DELIVERY_ALLOWED_CIDRS`'),
};

export const SOURCE_ADDRESSES = sourceAddressesSchema
  .default([])
  .describe(
    'the ranges that deliveries come from, such as `203.0.113.0/28`, for the firewalls of receivers: shown at `GET /v1/source-addresses` and in the portal',
  );

/** The forward proxy for deliveries. */
export interface EgressProxy {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  /** The `Proxy-Authorization` to send. A secret. */
  readonly authorization: string | undefined;
}

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;

/**
 * `http://proxy:3128`, `https://user:password@proxy`. No message repeats the value, which may contain a
 * password.
 */
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
  const url = parseUrl(text);
  if (!url) return undefined;
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

import { z } from 'zod';
import { parseUrl } from '../platform/parse-url';
import type { RefusalReason } from './address-ranges';

const MAX_LENGTH = 2_048;

export type AddressVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: RefusalReason };

export interface TargetUrlRules {
  /** Whether `http:` is allowed beside `https:`: only for trials. */
  readonly allowHttp: boolean;
  /**
   * Whether names that can only be internal (`localhost`, `db`, `x.internal`) may be registered. Their
   * addresses are still checked when connecting.
   */
  readonly allowInternalNames: boolean;
  /** Decides whether a delivery may go to an IP address. */
  readonly addressPolicy: { classify(address: string): AddressVerdict };
}

/**
 * The URL of an endpoint, as a client may register it. Gives the URL in its normalised form. The addresses of
 * its name are not checked here, since they may differ at the time of a delivery: the address policy checks
 * them then.
 */
export function targetUrlSchema(rules: TargetUrlRules) {
  return z
    .string()
    .max(MAX_LENGTH, `must have at most ${MAX_LENGTH} characters`)
    .meta({ format: 'uri', example: 'https://example.com/webhooks' })
    .transform((text, context) => {
      const url = parseUrl(text);
      const fault = url ? faultOf(text, url, rules) : NO_URL;
      if (url && fault === undefined) return url.href;
      context.addIssue({ code: 'custom', message: fault ?? NO_URL });
      return z.NEVER;
    });
}

const NO_URL = 'must be an absolute URL such as https://example.com/webhooks';

function faultOf(text: string, url: URL, rules: TargetUrlRules): string | undefined {
  return faultOfForm(text, url, rules) ?? faultOfPort(url) ?? faultOfHost(url, rules);
}

function faultOfForm(text: string, url: URL, { allowHttp }: TargetUrlRules): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return 'must be a URL that begins with https:// or http://';
  if (url.protocol === 'http:' && !allowHttp)
    return 'must be a URL that begins with https:// (ALLOW_HTTP_URLS permits http://)';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  // An empty fragment ("…#") leaves no trace in `hash`.
  if (url.hash !== '' || text.includes('#')) return 'must not have a fragment';
  if (url.href.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters once it is encoded`;
  return undefined;
}

function faultOfPort({ port }: URL): string | undefined {
  // Without a port it is 80 or 443.
  if (port === '' || !REFUSED_PORTS.has(Number(port))) return undefined;
  return `must not use port ${port}, which belongs to another protocol`;
}

// The URL parser has turned every spelling of an IPv4 address (octal, hex, short …) into the dotted one, and
// put an IPv6 address into brackets. Checked without node:net: forms in a browser use this too.
const ADDRESS = /^(\[.*\]|\d+(\.\d+){3})$/;

function faultOfHost(url: URL, rules: TargetUrlRules): string | undefined {
  const host = hostOf(url);
  return ADDRESS.test(url.hostname) ? faultOfAddress(host, rules) : faultOfName(host, rules);
}

function faultOfAddress(address: string, { addressPolicy }: TargetUrlRules): string | undefined {
  const verdict = addressPolicy.classify(address);
  if (verdict.allowed) return undefined;
  if (verdict.reason === 'denied_by_operator')
    return `must not lead to ${address}, which DELIVERY_DENIED_CIDRS denies`;
  return (
    `must not lead to ${address}, which is not a public address: ${verdict.reason} ` +
    '(the operator can allow it: DELIVERY_ALLOWED_CIDRS)'
  );
}

const EMPTY_LABEL = /^\.|\.\./;

function faultOfName(name: string, { allowInternalNames }: TargetUrlRules): string | undefined {
  if (EMPTY_LABEL.test(name)) return `must not lead to ${name}, which is not a host name`;
  if (!allowInternalNames && isInternalName(name))
    return `must not lead to ${name}, which is not a public name (the operator can allow it: DELIVERY_ALLOWED_CIDRS)`;
  return undefined;
}

// The Fetch standard's "bad ports": services that could read a POST as their own commands.
const BAD_PORTS = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];
// Redis and memcached, which often respond to any client.
const STORE_PORTS = [6379, 11211];

// Services other than HTTP, which a POST could harm.
const REFUSED_PORTS = new Set([...BAD_PORTS, ...STORE_PORTS]);

// Reserved for private use (RFC 6761, 6762, 8375, ICANN's .internal) or never delegated because of it, and
// the endings that containers and their orchestrators use.
const INTERNAL_ENDINGS = [
  '.localhost',
  '.local',
  '.localdomain',
  '.internal',
  '.intranet',
  '.private',
  '.lan',
  '.home',
  '.corp',
  '.home.arpa',
  '.svc',
];

/** Whether a name can have no meaning in the public DNS: one label only, or a reserved ending. */
export function isInternalName(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, '');
  return !bare.includes('.') || INTERNAL_ENDINGS.some((ending) => bare.endsWith(ending));
}

/** A URL's host; an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

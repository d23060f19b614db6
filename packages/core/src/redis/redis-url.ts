interface Node {
  readonly host: string;
  readonly port: number;
}

interface Common {
  readonly auth: { readonly username?: string; readonly password?: string };
  readonly tls: boolean;
}

export type RedisTarget =
  | (Common & { readonly kind: 'single'; readonly node: Node; readonly db: number })
  | (Common & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly Node[];
      readonly master: string;
      readonly db: number;
    })
  | (Common & { readonly kind: 'cluster'; readonly nodes: readonly Node[] });

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

const FORM = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^?]*))?$/;

/**
 * Understands
 * - `redis://[user:password@]host[:port][/db]`, or `rediss://…` with TLS;
 * - `redis+sentinel://[user:password@]host[:port],host…/master-name[/db]`;
 * - `redis+cluster://[user:password@]host[:port],host…`.
 *
 * @throws Error when the text has none of these forms. The text is not repeated: it can hold a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const match = FORM.exec(url);
  if (!match) throw new Error('REDIS_URL has none of the forms that docs/configuration.md lists.');
  const [, secure, kind, credentials, hosts = '', path = ''] = match;
  const common: Common = { auth: parseAuth(credentials), tls: secure === 's' };

  if (kind === 'cluster') return { ...common, kind, nodes: parseNodes(hosts, REDIS_PORT) };
  if (kind === 'sentinel') {
    const [master = 'mymaster', db = '0'] = path.split('/');
    return { ...common, kind, sentinels: parseNodes(hosts, SENTINEL_PORT), master, db: Number(db) };
  }
  return { ...common, kind: 'single', node: parseNode(hosts, REDIS_PORT), db: Number(path) };
}

function parseAuth(credentials: string | undefined): Common['auth'] {
  if (credentials === undefined || credentials === '') return {};
  const colon = credentials.indexOf(':');
  const username = decodeURIComponent(colon === -1 ? '' : credentials.slice(0, colon));
  const password = decodeURIComponent(credentials.slice(colon + 1));
  return { ...(username === '' ? {} : { username }), password };
}

function parseNodes(hosts: string, defaultPort: number): Node[] {
  return hosts.split(',').map((host) => parseNode(host, defaultPort));
}

function parseNode(text: string, defaultPort: number): Node {
  const { hostname, port } = new URL(`tcp://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}

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
      /** As which user to ask the Sentinels; that of the servers is another one. */
      readonly sentinelAuth: { readonly sentinelUsername?: string; readonly sentinelPassword?: string };
      readonly master: string;
      readonly db: number;
    })
  | (Common & { readonly kind: 'cluster'; readonly nodes: readonly Node[] });

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

const FORM = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;
const SENTINEL_PATH = /^([^/]*)(?:\/([^/]*))?$/;
const SENTINEL_SETTING = /^(sentinelUsername|sentinelPassword)=(.+)$/;
const DEFAULT_MASTER = 'mymaster';

/**
 * Understands
 * - `redis://[user:password@]host[:port][/db]`, or `rediss://…` with TLS;
 * - `redis+sentinel://[user:password@]host[:port],host…/master-name[/db]`, where the Sentinels have a password with
 *   `?sentinelPassword=…`, and `&sentinelUsername=…` if it is not the default user's;
 * - `redis+cluster://[user:password@]host[:port],host…`.
 *
 * @throws Error when the text has none of these forms. The text is not repeated: it can hold a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  try {
    return readTarget(url);
  } catch {
    // Without its cause, because some causes repeat a part of the text.
    throw new Error(
      'The Redis URL has none of the forms redis://[user:password@]host[:port][/db], rediss://…, ' +
        'redis+sentinel://…host,host/master-name[/db] and redis+cluster://…host,host.',
    );
  }
}

export function isRedisUrl(url: string): boolean {
  try {
    readTarget(url);
    return true;
  } catch {
    return false;
  }
}

function readTarget(url: string): RedisTarget {
  const [, secure, kind, credentials, hosts = '', path = '', query] = FORM.exec(url) ?? refuse();
  if (query !== undefined && kind !== 'sentinel') refuse();
  const common: Common = { auth: parseAuth(credentials), tls: secure === 's' };

  if (kind === 'cluster') {
    return path === '' ? { ...common, kind, nodes: parseNodes(hosts, REDIS_PORT) } : refuse();
  }
  if (kind === 'sentinel') {
    const [, master, db] = SENTINEL_PATH.exec(path) ?? refuse();
    return {
      ...common,
      kind,
      sentinels: parseNodes(hosts, SENTINEL_PORT),
      sentinelAuth: parseSentinelAuth(query),
      master: master || DEFAULT_MASTER,
      db: parseDb(db),
    };
  }
  return { ...common, kind: 'single', node: parseNode(hosts, REDIS_PORT), db: parseDb(path) };
}

function parseAuth(credentials: string | undefined): Common['auth'] {
  if (credentials === undefined || credentials === '') return {};
  const colon = credentials.indexOf(':');
  const username = decodeURIComponent(colon === -1 ? '' : credentials.slice(0, colon));
  const password = decodeURIComponent(credentials.slice(colon + 1));
  return { ...(username === '' ? {} : { username }), password };
}

/** Percent-encoded, like user and password before the hosts. */
function parseSentinelAuth(query = '') {
  const auth: { sentinelUsername?: string; sentinelPassword?: string } = {};
  for (const part of query === '' ? [] : query.split('&')) {
    const [, name, text = ''] = SENTINEL_SETTING.exec(part) ?? refuse();
    auth[name === 'sentinelUsername' ? name : 'sentinelPassword'] = decodeURIComponent(text);
  }
  return auth;
}

function parseNodes(hosts: string, defaultPort: number): Node[] {
  return hosts.split(',').map((host) => parseNode(host, defaultPort));
}

function parseNode(text: string, defaultPort: number): Node {
  const url = new URL(`tcp://${text}`);
  // An IPv6 address without its brackets.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === '' || host.includes(',')) refuse();
  return { host, port: url.port === '' ? defaultPort : Number(url.port) };
}

function parseDb(digits = ''): number {
  return /^\d{0,5}$/.test(digits) ? Number(digits) : refuse();
}

function refuse(): never {
  throw new Error('not a Redis URL');
}

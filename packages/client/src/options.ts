/** A call that failed and will be repeated. */
export interface Retry {
  readonly method: string;
  /** Of the URL, without the query. */
  readonly path: string;
  /** 1 for the first retry. */
  readonly retry: number;
  /** Milliseconds until then. */
  readonly delayMs: number;
  /** A `WebhooksApiError` or a `WebhooksConnectionError`. */
  readonly error: Error;
}

export interface ClientOptions {
  /** The address of the service, such as `https://webhooks.example.com`. A path in it is put before `/v1`. */
  readonly baseUrl: string;
  /** `whk_…` */
  readonly apiKey: string;
  /** Acts for this account. Only keys of the operator's account may name another than their own. */
  readonly account?: string;
  /** How often a call is repeated after 429, 503 and failed connections: 0 to 20. Default 3. 0: one request only. */
  readonly retries?: number;
  /** The time for each attempt, to the end of its response, in milliseconds: 1 to a day. Default 30,000. */
  readonly timeoutMs?: number;
  /** Used instead of the global `fetch`, such as for a proxy or certificates of your own. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** The header `User-Agent`; by default `hookferry-client/` and the version. Browsers may send their own. */
  readonly userAgent?: string;
  /** Called before each wait, to log it. */
  readonly onRetry?: (retry: Retry) => void;
}

/** The version of this package. */
export const CLIENT_VERSION = '0.1.0';

const DAY_MS = 86_400_000;
const MAX_RETRIES = 20;
const HEADER_TEXT = /^[\x21-\x7e]+$/;

export type CheckedOptions = Required<Omit<ClientOptions, 'account'>> & Pick<ClientOptions, 'account'>;

/** The options with their defaults. @throws TypeError if one is not valid. Its message never has the key */
export function checkOptions(options: ClientOptions): CheckedOptions {
  const {
    retries = 3,
    timeoutMs = 30_000,
    userAgent = `hookferry-client/${CLIENT_VERSION}`,
    fetch = (request) => globalThis.fetch(request),
    onRetry = () => undefined,
  } = options;
  check(
    isHeaderText(options.apiKey),
    'apiKey must be an API key such as whk_…, without spaces or line breaks',
  );
  check(isHeaderText(options.account ?? 'default'), "account must be an account's id");
  check(isBetween(retries, 0, MAX_RETRIES), `retries must be a whole number from 0 to ${MAX_RETRIES}`);
  check(
    isBetween(timeoutMs, 1, DAY_MS),
    `timeoutMs must be a whole number of milliseconds from 1 to ${DAY_MS}`,
  );
  return {
    ...options,
    baseUrl: checkBaseUrl(options.baseUrl),
    retries,
    timeoutMs,
    userAgent,
    fetch,
    onRetry,
  };
}

/** Messages of `fetch` would show a user name and a password, so they are refused, and are not shown here either. */
function checkBaseUrl(baseUrl: string): string {
  const url = parseUrl(baseUrl);
  check(url !== undefined, 'baseUrl must be an absolute URL such as https://webhooks.example.com');
  check(['http:', 'https:'].includes(url.protocol), 'baseUrl must begin with https:// or http://');
  check(
    url.username === '' && url.password === '',
    'baseUrl must have no user name and no password: use apiKey',
  );
  check(url.search === '' && url.hash === '', 'baseUrl must have no query and no fragment');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** `unknown`, because a variable that is not set is undefined, whatever its type says. */
function isHeaderText(value: unknown): boolean {
  return typeof value === 'string' && HEADER_TEXT.test(value);
}

function isBetween(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function check(isGood: boolean, message: string): asserts isGood {
  if (!isGood) throw new TypeError(`createClient: ${message}.`);
}

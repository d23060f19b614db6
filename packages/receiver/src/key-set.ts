import { WebhookVerificationError } from './verification-error';

/** A key in the form of WebCrypto. */
export type PublicKey = Awaited<ReturnType<typeof globalThis.crypto.subtle.importKey>>;

export interface KeySetOptions {
  /** Fetches the set. Default: the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The present, in milliseconds. Default: this machine's clock. */
  readonly now?: () => number;
}

interface KeySet {
  readonly keys: ReadonlyMap<string, PublicKey>;
  readonly fetchedAt: number;
  /** How long it may be used. */
  readonly forMs: number;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 65_536;
const MAX_KEYS = 100;
// Requests that name unknown keys cause no more fetches than this.
const UNKNOWN_EVERY_MS = 60_000;
const FAILED_EVERY_MS = 5_000;
// `max-age` of the response, within these.
const LEAST_MS = 10_000;
const MOST_MS = 3_600_000;
const DEFAULT_MS = 300_000;
// A set that can't be fetched again is used for this long: its requests may arrive late, while the service is down.
const STALE_MS = 3_600_000;

/** Gives the keys that may have signed: the one with this `kid`, or all of them where the request names none. */
export function createKeySet(
  url: string,
  importKey: (bytes: Uint8Array) => Promise<PublicKey>,
  { fetch = (...args) => globalThis.fetch(...args), now = Date.now }: KeySetOptions,
): { find(kid: string | undefined): Promise<readonly PublicKey[]> } {
  let known: KeySet | undefined;
  let fetching: Promise<void> | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<void> {
    triedAt = now();
    const { text, forMs } = await read(url, fetch);
    known = { keys: await parse(text, importKey), fetchedAt: triedAt, forMs };
  }

  // All who wait share one request.
  async function refresh(): Promise<void> {
    fetching ??= load().finally(() => {
      fetching = undefined;
    });
    await fetching;
  }

  async function freshen(): Promise<KeySet> {
    const age = known ? now() - known.fetchedAt : Number.POSITIVE_INFINITY;
    if (known && age < known.forMs) return known;
    if (fetching || now() - triedAt >= FAILED_EVERY_MS) {
      try {
        await refresh();
      } catch (error) {
        if (!known || age > known.forMs + STALE_MS) throw unavailable(error);
      }
    }
    if (!known || now() - known.fetchedAt > known.forMs + STALE_MS)
      throw unavailable('it failed a moment ago');
    return known;
  }

  return {
    async find(kid) {
      let { keys } = await freshen();
      if (kid === undefined) return [...keys.values()];
      if (!keys.has(kid) && (fetching || now() - triedAt >= UNKNOWN_EVERY_MS)) {
        await refresh().catch(() => {});
        keys = known?.keys ?? keys;
      }
      const key = keys.get(kid);
      return key ? [key] : [];
    },
  };
}

async function read(url: string, fetch: NonNullable<KeySetOptions['fetch']>) {
  // A redirect could lead to the keys of somebody else.
  const response = await fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json', 'cache-control': 'no-cache' },
  });
  if (response.status !== 200) throw new Error(`it responded with the status ${response.status}`);
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})/.exec(response.headers.get('cache-control') ?? '')?.[1];
  const forMs =
    seconds === undefined ? DEFAULT_MS : Math.min(Math.max(Number(seconds) * 1_000, LEAST_MS), MOST_MS);
  return { text: await readText(response), forMs };
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_BYTES) {
      await reader?.cancel();
      throw new Error('it is too long');
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The keys of the set for Ed25519 signatures. Other keys are ignored. */
async function parse(text: string, importKey: (bytes: Uint8Array) => Promise<PublicKey>) {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('it is not a key set');
  const imported = new Map<string, PublicKey>();
  for (const jwk of keys.slice(0, MAX_KEYS) as readonly unknown[]) {
    const bytes = bytesOfJwk(jwk);
    if (bytes) imported.set((jwk as { kid: string }).kid, await importKey(bytes));
  }
  return imported;
}

function bytesOfJwk(jwk: unknown): Uint8Array | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kty, crv, x, kid, use = 'sig', alg = 'EdDSA' } = jwk as Readonly<Record<string, unknown>>;
  const isOurs =
    kty === 'OKP' && crv === 'Ed25519' && use === 'sig' && (alg === 'EdDSA' || alg === 'Ed25519');
  if (!isOurs || typeof kid !== 'string' || typeof x !== 'string' || !/^[\w-]{43}$/.test(x)) return undefined;
  return Uint8Array.from(atob(x.replace(/-/g, '+').replace(/_/g, '/')), (character) =>
    character.charCodeAt(0),
  );
}

function unavailable(cause: unknown): WebhookVerificationError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new WebhookVerificationError('keys_unavailable', `The key set can't be fetched: ${why}.`);
}

/**
 * Where a new link to the portal comes from. A URL of your server: it gets a POST with the cookies of your page, and responds
 * with `{"url": "…"}`. Or a function that resolves with the link.
 */
export type SessionSource = string | URL | (() => Promise<string>);

/** No link could be had, or the portal does not work. `code` is for programs. */
export class PortalError extends Error {
  override readonly name = 'PortalError';

  constructor(
    readonly code: 'session_unavailable' | 'wrong_origin' | 'too_many_sessions' | 'no_answer',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A new link of the service at `baseUrl`.
 *
 * @throws PortalError `session_unavailable`: the source failed, its error is the `cause`. `wrong_origin`: it is a link to another
 *   service, which gets to know nothing
 */
export async function newSessionLink(source: SessionSource, baseUrl: string): Promise<URL> {
  const link = await linkFrom(source).catch((cause: unknown) => {
    throw new PortalError('session_unavailable', `There is no new session: ${textOf(cause)}`, { cause });
  });
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url?.origin === new URL(baseUrl).origin) return url;
  throw new PortalError(
    'wrong_origin',
    `The new link leads to ${url ? url.origin : 'no address'}, not to ${new URL(baseUrl).origin}.`,
  );
}

/** The code in a link. */
export function codeOf(link: URL): string {
  return new URLSearchParams(link.hash.slice(1)).get('code') ?? '';
}

export async function linkFrom(source: SessionSource): Promise<string> {
  if (typeof source === 'function') return await source();
  const response = await fetch(source, { method: 'POST', headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`${response.url} responded with ${response.status}.`);
  const { url } = (await response.json()) as { readonly url?: unknown };
  if (typeof url !== 'string') throw new Error(`${response.url} responded without a "url".`);
  return url;
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

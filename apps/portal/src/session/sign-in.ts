import type { components } from '@hookferry/client';
import { ask } from '../api/ask';
import type { Api } from '../api/client';
import type { Session } from './session';

type Exchanged = components['schemas']['OpenedPortalSession'];

/** Ways to a session. Each rejects with a ProblemError that says why there is none. */
export interface SignIn {
  /** By the one-time code of a link. */
  byCode(code: string): Promise<Session>;
  /** By an API key, which makes a link for itself with all that it may give, and is forgotten. */
  byKey(key: string): Promise<Session>;
}

/** @param api one that says nothing of who asks: a code or a key says it */
export function createSignIn(api: Api): SignIn {
  const byCode = async (code: string) =>
    sessionOf(await ask(api.POST('/v1/portal-sessions/exchange', { body: { code } })));
  return {
    byCode,
    async byKey(key) {
      // untranslated: a header
      const headers = { authorization: `Bearer ${key}` };
      const { capabilities } = await ask(api.GET('/v1/me', { headers }));
      const { url } = await ask(api.POST('/v1/portal-sessions', { body: { capabilities }, headers }));
      return await byCode(codeOf(url) ?? '');
    },
  };
}

/** The code in a link to the portal, or in what follows its `#`. */
export function codeOf(link: string): string | undefined {
  const fragment = link.slice(link.indexOf('#') + 1);
  return new URLSearchParams(fragment).get('code') ?? undefined;
}

function sessionOf({ account_id, expires_at, return_url, ...rest }: Exchanged): Session {
  const { id, token, capabilities, theme } = rest;
  return {
    id,
    token,
    accountId: account_id,
    capabilities,
    expiresAt: new Date(expires_at),
    returnUrl: safeUrl(return_url),
    theme,
  };
}

/** A link from somebody unknown must not run anything in this page. */
function safeUrl(url: string | null): string | undefined {
  return url !== null && /^https?:\/\//i.test(url) ? url : undefined;
}

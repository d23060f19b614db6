import { problemOf, unreachable } from '../api/problem';
import type { Capability, Session, SessionTheme } from './session';

interface ExchangedSession {
  readonly id: string;
  readonly token: string;
  readonly account_id: string;
  readonly capabilities: readonly Capability[];
  readonly expires_at: string;
  readonly return_url?: string | null;
  readonly theme?: SessionTheme | null;
}

/** Takes the one-time code of a link for a session. @throws ProblemError: it was used before, is too old, or is none */
export async function exchangeCode(code: string): Promise<Session> {
  const answer = (await post('/v1/portal-sessions/exchange', { code }, {})) as ExchangedSession;
  return {
    id: answer.id,
    token: answer.token,
    accountId: answer.account_id,
    capabilities: answer.capabilities,
    expiresAt: new Date(answer.expires_at),
    returnUrl: safeUrl(answer.return_url ?? undefined),
    theme: answer.theme ?? {},
  };
}

const OPERATOR = ['read', 'endpoints', 'resend', 'secrets', 'operate'];

/** A session made with an API key, which is forgotten at once. @throws ProblemError */
export async function signInWithKey(key: string): Promise<Session> {
  const body = { capabilities: OPERATOR };
  const { url } = (await post('/v1/portal-sessions', body, { authorization: `Bearer ${key}` })) as {
    readonly url: string;
  };
  return await exchangeCode(codeOf(url) ?? '');
}

async function post(path: string, body: object, headers: Record<string, string>): Promise<unknown> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, init).catch((cause: unknown) => {
    throw unreachable(cause);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw problemOf(response, answer);
  return answer;
}

/** A link of a stranger must not run anything in this page. */
function safeUrl(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
}

/** The code in a link to the portal, or in what follows its `#`. */
export function codeOf(link: string): string | undefined {
  const fragment = link.slice(link.indexOf('#') + 1);
  return new URLSearchParams(fragment).get('code') ?? undefined;
}

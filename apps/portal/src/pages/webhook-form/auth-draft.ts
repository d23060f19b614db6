import type { ValidationError } from '../../api/problem';
import type { NewWebhook, Webhook } from '../../api/webhook-queries';

type Auth = NonNullable<Webhook['auth']>;
type NewAuth = NonNullable<NewWebhook['auth']>;

/** A webhook's `auth` as a form has it. */
export interface AuthDraft {
  readonly type: '' | Auth['type'];
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly credential: 'client_secret' | 'private_key';
  readonly scope: string;
  readonly audience: string;
  readonly username: string;
  /** Whichever the type has. Empty: the one that is there stays. */
  readonly secret: string;
}

export const NO_AUTH: AuthDraft = {
  type: '',
  tokenUrl: '',
  clientId: '',
  credential: 'client_secret',
  scope: '',
  audience: '',
  username: '',
  secret: '',
};

export const AUTH_CHOICES: Readonly<Record<AuthDraft['type'], string>> = {
  '': 'Only the signature',
  basic: 'A name and a password (HTTP Basic)',
  bearer: 'A token that you have (Bearer)',
  oauth2: 'Access tokens from an authorization server (OAuth2 client credentials)',
};

export function authDraftOf(auth: Auth | undefined): AuthDraft {
  if (auth?.type === 'basic') return { ...NO_AUTH, type: auth.type, username: auth.username };
  if (auth?.type !== 'oauth2') return { ...NO_AUTH, type: auth?.type ?? '' };
  const { type, token_url: tokenUrl, client_id: clientId, credential, scope = '', audience = '' } = auth;
  return { ...NO_AUTH, type, tokenUrl, clientId, credential, scope, audience };
}

/** The `auth` of a request; an unchanged secret is left out. */
export function authOf(draft: AuthDraft): NewAuth | undefined {
  const { type, tokenUrl, clientId, credential, scope, audience, username, secret } = draft;
  switch (type) {
    case '':
      return undefined;
    case 'basic':
      return { type, username, ...said('password', secret) } as NewAuth;
    case 'bearer':
      return { type, ...said('token', secret.trim()) } as NewAuth;
    case 'oauth2':
      return {
        type,
        token_url: tokenUrl.trim(),
        client_id: clientId,
        ...said(credential, secret),
        ...said('scope', scope.trim()),
        ...said('audience', audience.trim()),
      };
  }
}

function said(name: string, text: string): Readonly<Record<string, string>> {
  return text === '' ? {} : { [name]: text };
}

/** True if the webhook has a secret, which stays if none is typed. */
export function hasSecret(draft: AuthDraft, before: AuthDraft): boolean {
  return draft.type === before.type && (draft.type !== 'oauth2' || draft.credential === before.credential);
}

/** Missing; what else is wrong the service says. */
export function faultsOfAuth(draft: AuthDraft, before: AuthDraft): readonly ValidationError[] {
  const members = membersOf(draft);
  const missing = members.filter(([name, value]) => value.trim() === '' && !isKept(name, draft, before));
  return missing.map(([name]) => ({ pointer: `/auth/${name}`, detail: 'is required' }));
}

const SECRETS: readonly string[] = ['password', 'token', 'client_secret', 'private_key'];

function isKept(name: string, draft: AuthDraft, before: AuthDraft): boolean {
  return SECRETS.includes(name) && hasSecret(draft, before);
}

/** Those that the type must have. */
function membersOf(draft: AuthDraft): readonly (readonly [string, string])[] {
  const { type, tokenUrl, clientId, credential, username, secret } = draft;
  switch (type) {
    case '':
      return [];
    case 'basic':
      return [
        ['username', username],
        ['password', secret],
      ];
    case 'bearer':
      return [['token', secret]];
    case 'oauth2':
      return [
        ['token_url', tokenUrl],
        ['client_id', clientId],
        [credential, secret],
      ];
  }
}

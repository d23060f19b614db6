import type { AuthKinds, AuthType } from '@hookferry/core/domain/receiver-auth/kinds';
import { t } from '@lingui/core/macro';

interface FieldWords {
  readonly label: string;
  readonly hint: string;
}

interface KindWords {
  /** How the form offers it. */
  readonly choice: string;
  /** On the page of a webhook, of the members that responses show. */
  readonly fact: (shown: Readonly<Partial<Record<string, string | null>>>) => string;
  /** Which of the credentials it has, of a kind that has several. */
  readonly credential?: FieldWords;
  /** With `choice` for one of several credentials. */
  readonly members: Readonly<Record<string, FieldWords & { readonly choice?: string }>>;
}

/** Each member has words. */
type WordsOf<Type extends AuthType> = KindWords & {
  readonly members: Readonly<Record<keyof AuthKinds[Type]['members'], unknown>>;
};

const words: { readonly [Type in AuthType]: WordsOf<Type> } = {
  basic: {
    choice: t`A name and a password (HTTP Basic)`,
    fact: ({ username }) => {
      const name = username ?? '';
      return t`Basic, as ${name}`;
    },
    members: {
      username: { label: t`Name`, hint: t`Without a colon.` },
      password: { label: t`Password`, hint: t`It is never shown again.` },
    },
  },
  bearer: {
    choice: t`A token that you have (Bearer)`,
    fact: () => t`Bearer, a token`,
    members: { token: { label: t`Token`, hint: t`The token after Bearer. It is never shown again.` } },
  },
  oauth2: {
    choice: t`Access tokens from an authorization server (OAuth2 client credentials)`,
    fact: tokensFact,
    credential: {
      label: t`It authenticates with`,
      hint: t`The method that is registered at the authorization server.`,
    },
    members: {
      token_url: { label: t`Token URL`, hint: t`The token endpoint of the authorization server.` },
      client_id: { label: t`Client id`, hint: t`The id of this service at the authorization server.` },
      client_secret: {
        label: t`Client secret`,
        hint: t`It is never shown again.`,
        choice: t`A client secret`,
      },
      private_key: {
        label: t`Private key`,
        hint: t`PKCS #8 in PEM. It is never shown again.`,
        choice: t`A private key, which signs an assertion`,
      },
      scope: {
        label: t`Scope`,
        hint: t`The scopes to ask for, with spaces between them. Empty: the default of the server.`,
      },
      audience: { label: t`Audience`, hint: t`The audience to ask for, if the server needs one.` },
    },
  },
};

function tokensFact({ token_url: url, client_id: id, scope }: Parameters<KindWords['fact']>[0]): string {
  const [server, client] = [url ?? '', id ?? ''];
  return scope
    ? t`OAuth2, tokens from ${server} for ${client} (${scope})`
    : t`OAuth2, tokens from ${server} for ${client}`;
}

/** Authentication at a receiver, in the viewer's language. */
export function authWordsOf(type: AuthType): KindWords {
  return words[type];
}

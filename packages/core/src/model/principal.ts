import type { ApiKey } from './api-key';
import type { Capability } from './portal-session';

/** Whom a request comes from: whoever holds an API key, or the token of a portal session. */
export interface Principal extends Pick<ApiKey, 'id' | 'accountId' | 'scopes' | 'sha256'> {
  /** What a portal session may be used for; absent: it is an API key. */
  readonly capabilities?: readonly Capability[];
}

/** API keys with the right scope may see secrets, as whoever gives a webhook a secret has one. */
export function maySeeSecrets({ capabilities }: Principal): boolean {
  return capabilities?.includes('secrets') ?? true;
}

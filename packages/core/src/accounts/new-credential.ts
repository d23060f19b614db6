import { encodeBytes, type NewId } from '../kernel/ids';
import { newSecretBytes, type SecretBytes } from '../kernel/secret-bytes';

const ID_CHARACTERS = 16;
const SECRET_CHARACTERS = 52; // 260 bits.

/** A new API key, which nobody can guess. Of the same ids and bytes it is the same key. */
export function newApiKey(newId: NewId, secretBytes: SecretBytes = newSecretBytes): string {
  return credentialOf('whk', newId('key').slice(-ID_CHARACTERS), secretBytes);
}

/** The code in the link to a new portal session; likewise. */
export function newPortalCode(newId: NewId, secretBytes: SecretBytes): string {
  return credentialOf('whc', newId('session').slice(-ID_CHARACTERS), secretBytes);
}

/** The token of a session, a new one each time. */
export function newPortalToken(sessionId: string): string {
  return credentialOf('whp', sessionId, newSecretBytes);
}

function credentialOf(prefix: string, id: string, secretBytes: SecretBytes): string {
  return `${prefix}_${id}_${encodeBytes(secretBytes(SECRET_CHARACTERS), SECRET_CHARACTERS)}`;
}
